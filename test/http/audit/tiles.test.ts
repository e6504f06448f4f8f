import { expect } from "chai";
import { readCheckpoint } from "#src/audit/checkpoint.ts";
import { foldHashes, hashEntry, rootOf } from "#src/audit/merkle.ts";
import { readVerifierKey } from "#src/audit/signedNote.ts";
import { signHead } from "#src/commands/audit/signHead.ts";
import { readTilePath } from "#src/http/audit/tiles.ts";
import { openNote } from "#test/support/auditReading.ts";
import type { InProcess, Workspace } from "#test/support/inProcess.ts";
import { startInProcess, until } from "#test/support/inProcess.ts";

describe("http: audit trees", () => {
  let service: InProcess;
  let workspace: Workspace;
  let other: Workspace;
  const base = () => `/audit/${workspace.id}/1`;
  const get = (path: string, key = workspace.key) =>
    fetch(`${service.url}${path}`, { headers: key === "" ? {} : { Authorization: `Bearer ${key}` } });

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    other = await service.workspace();
    for (let n = 0; n < 300; n += 1) await workspace.ask("POST /v1/assistants", { json: { name: `Assistant ${n}` } });
    await until(async () => service.deps.projected(await service.deps.store.head(), { of: ["auditTree"] }));
    await signHead(service.deps, workspace.id);
  });
  after(() => service.stop());

  /** Reads the entries of bundles, each after its length. */
  function entriesOf(bundle: Buffer): Buffer[] {
    const entries = [];
    for (let at = 0; at < bundle.length; ) {
      const length = bundle.readUInt16BE(at);
      entries.push(bundle.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
    return entries;
  }

  it("a monitor reads checkpoint, tiles and entries, and computes the root that was signed", async () => {
    const answer = await get(`${base()}/checkpoint`);
    expect(answer.headers.get("content-type")).to.equal("text/plain; charset=utf-8");
    const checkpoint = await answer.text();
    const [{ verifierKey } = { verifierKey: "" }] = await service.deps.auditHeads.verifierKeys();
    const { size, root, origin } = readCheckpoint(openNote(checkpoint, [readVerifierKey(verifierKey)])!)!;
    expect(origin).to.equal(`${new URL(service.deps.settings.publicUrl).host}${base()}`);
    expect(size).to.be.above(300);

    const bytes = async (path: string) => Buffer.from(await (await get(`${base()}/tile/${path}`)).arrayBuffer());
    const entries = [
      ...entriesOf(await bytes("entries/000")),
      ...entriesOf(await bytes(`entries/001.p/${size - 256}`)),
    ];
    expect(entries).to.have.length(size);
    const hashes = entries.map(hashEntry);
    const tiles = Buffer.concat([await bytes("0/000"), await bytes(`0/001.p/${size - 256}`)]);
    expect(tiles.equals(Buffer.concat(hashes))).to.equal(true);
    expect((await bytes("1/000.p/1")).equals(foldHashes(hashes.slice(0, 256)))).to.equal(true);
    const computed = await rootOf(
      async (nodes) =>
        nodes.map(({ level, number }) => foldHashes(hashes.slice(number * 2 ** level, (number + 1) * 2 ** level))),
      size,
    );
    expect(computed.equals(root)).to.equal(true);
    expect(entries.map((entry) => JSON.parse(entry.toString()).type)).to.include("AssistantCreated");
  });

  it("a tile's number is written in groups of three digits, in one way", () => {
    const numberIn = (path: string) => readTilePath(path.split("/"));
    expect(numberIn("x001/x234/067")).to.deep.equal({ number: 1_234_067, width: 256 });
    expect(numberIn("273.p/112")).to.deep.equal({ number: 273, width: 112 });
    for (const wrong of ["x000/000", "x001/x234/x067", "001/234", "67", "x01/067", "067.p/0", "067.p/256", "067.p/017"])
      expect(numberIn(wrong), wrong).to.equal(undefined);
  });

  it("the public keys are readable without a key, and hold the one that signed", async () => {
    const answer = await get("/.well-known/countersign-audit-keys", "");
    const [{ verifierKey } = { verifierKey: "" }] = await service.deps.auditHeads.verifierKeys();
    expect(await answer.text()).to.match(/^[A-Za-z0-9+/]{44} since 20\S+Z\n$/);
    expect(
      verifierKey.endsWith((await (await get("/.well-known/countersign-audit-keys", "")).text()).slice(0, 44)),
    ).to.equal(true);
  });

  it("a tree is hidden from callers without a key, and from other workspaces' keys", async () => {
    for (const path of ["checkpoint", "tile/0/000", "tile/entries/000"]) {
      expect((await get(`${base()}/${path}`, "")).status, path).to.equal(401);
      expect((await get(`${base()}/${path}`, other.key)).status, path).to.equal(404);
    }
  });

  it("a tile that the signed tree has not, and a path that is none, are not found", async () => {
    const paths = [
      "0/002",
      "0/001",
      "0/000.p/256",
      "0/000.p/0",
      "0/001.p/255",
      "1/000",
      "0/x000/000.p/01",
      "0/00a",
      "64/000",
    ];
    for (const path of paths) expect((await get(`${base()}/tile/${path}`)).status, path).to.be.oneOf([404, 422]);
    expect((await get(`/audit/${workspace.id}/2/checkpoint`)).status).to.equal(404);
  });
});
