import { expect } from "chai";
import { cosignatureIn, readCosignerKey } from "#src/audit/cosignature.ts";
import { splitNote } from "#src/audit/signedNote.ts";
import { type AnnounceDependencies, announceHeads } from "#src/commands/audit/announceHeads.ts";
import { originNow, signerOf, signHead } from "#src/commands/audit/signHead.ts";
import { type HttpWitnesses, httpWitnesses } from "#src/platform/audit/httpWitnesses.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";
import { startLoopbackWitness } from "#test/support/loopbackWitness.ts";

describe("witnesses that cosign heads of audit trees", () => {
  let service: InProcess;
  let witness: Awaited<ReturnType<typeof startLoopbackWitness>>;
  let other: Awaited<ReturnType<typeof startLoopbackWitness>>;
  let clients: HttpWitnesses;
  let workspace: Workspace;
  let deps: AnnounceDependencies;
  let refusals: string[];

  before(async () => {
    service = await startInProcess();
    witness = await startLoopbackWitness();
    other = await startLoopbackWitness({ name: "witness.example/w2" });
    clients = httpWitnesses([witness, other], { timeoutMs: 2_000 });
    deps = { ...service.deps, deliveries: service.webhookDeliveries, witnesses: clients.all };
  });
  after(async () => {
    await clients?.close();
    await Promise.all([witness?.stop(), other?.stop()]);
    await service?.stop();
  });
  beforeEach(async () => {
    workspace = await service.workspace();
    const { origin } = await originNow(deps, workspace.id);
    for (const each of [witness, other]) {
      each.logs.clear();
      each.logs.set(origin, signerOf(deps, origin).verifierKey);
      each.answers.length = 0;
      each.lie();
    }
    refusals = [];
  });

  const originOf = async () => (await originNow(deps, workspace.id)).origin;
  const grow = async (entries = 1) => {
    for (let n = 0; n < entries; n += 1) await workspace.ask("POST /v1/assistants", { json: { name: `Ann ${n}` } });
    await service.caughtUp();
    service.clock.advance(3_600_001);
    await signHead(deps, workspace.id);
  };
  const announce = (changed: Partial<AnnounceDependencies> = {}) =>
    announceHeads(
      { ...deps, ...changed },
      {
        onError: (error) => expect.fail(String(error)),
        onRefusal: (reason, named) => {
          if (named.treeId === workspace.id) refusals.push(`${named.witness}: ${reason}`);
        },
        stopping: new AbortController().signal,
      },
    );
  const cosigners = async () => {
    const { text, signatures } = splitNote((await deps.auditHeads.newest(workspace.id))!.checkpoint)!;
    const lines = signatures.map(({ line }) => line).join("");
    const byName = [witness, other].filter(({ verifierKey }) =>
      cosignatureIn(lines, { text, cosigner: readCosignerKey(verifierKey) }),
    );
    expect(signatures.slice(1).map(({ name }) => name)).to.have.members(byName.map(({ name }) => name));
    return byName.map(({ name }) => name);
  };
  const both = ["witness.example/w1", "witness.example/w2"];

  it("each head gets the cosignatures of all witnesses, with a proof that it continues the one that they know", async () => {
    for (const entries of [1, 2, 5, 1, 12]) {
      await grow(entries);
      await announce();
      expect(await cosigners()).to.deep.equal(both);
      const { size, root } = (await deps.auditHeads.newest(workspace.id))!;
      expect(witness.seen.get(await originOf())).to.deep.equal({ size, root });
    }
    expect(refusals).to.deep.equal([]);
    // The first request of a log names no old size, and every other one the right one.
    const own = witness.answers.filter((status) => status !== 404);
    expect(own).to.deep.equal([200, 200, 200, 200, 200]);
  });

  it("the cosigned checkpoint is what monitors read, and its list of heads has it too", async () => {
    await grow();
    await announce();
    const { checkpoint } = (await deps.auditHeads.newest(workspace.id))!;
    const answer = await fetch(`${service.url}/audit/${workspace.id}/1/checkpoint`, {
      headers: { Authorization: `Bearer ${workspace.key}` },
    });
    expect(await answer.text()).to.equal(checkpoint);
    const [listed] = await deps.auditHeads.list(workspace.id, 1);
    expect(listed!.checkpoint).to.equal(checkpoint);
  });

  it("a witness that knows another size is asked once more, from the size that it names", async () => {
    await grow();
    await announce();
    const known = witness.seen.get(await originOf())!;
    await grow(3);
    await announce();
    // The witness was put back to an older state, so what is recorded here is too new for it.
    witness.seen.set(await originOf(), known);
    await grow(3);
    witness.answers.length = 0;
    await announce();
    expect(await cosigners()).to.deep.equal(both);
    expect(witness.answers.filter((status) => status !== 404)).to.deep.equal([409, 200]);
  });

  it("a witness that has cosigned a head before a crash cosigns it again", async () => {
    await grow();
    const crash = () => Promise.reject(new Error("crashed"));
    await announceHeads(
      { ...deps, auditHeads: { ...deps.auditHeads, cosign: crash } },
      { onError: () => undefined, onRefusal: () => undefined, stopping: new AbortController().signal },
    );
    expect(await cosigners()).to.deep.equal([]);
    await announce();
    expect(await cosigners()).to.deep.equal(both);
  });

  it("a witness that cosigned is not asked about the same head again, and its name is in the checkpoint once", async () => {
    await grow();
    await announce({ auditHeads: { ...deps.auditHeads, announce: async () => undefined } });
    witness.answers.length = 0;
    await announce();
    expect(witness.answers).to.deep.equal([]);
    const head = (await deps.auditHeads.newest(workspace.id))!;
    const line = witness.cosign(splitNote(head.checkpoint)!.text);
    expect(await deps.auditHeads.cosign(head, [{ name: witness.name, line }])).to.equal(head.checkpoint);
  });

  it("a history that does not continue the head that a witness knows is not cosigned", async () => {
    await grow();
    await announce();
    const seen = witness.seen.get(await originOf())!;
    witness.seen.set(await originOf(), { ...seen, root: Buffer.alloc(32, 1) });
    await grow();
    await announce();
    expect(refusals).to.deep.equal([`${witness.name}: it answered 422`]);
    expect(await cosigners()).to.deep.equal([other.name]);
    witness.seen.set(await originOf(), { size: 1_000, root: Buffer.alloc(32, 1) });
    await grow();
    await announce();
    expect(refusals[1]).to.match(/w1: it has cosigned a head of 1000 entries before, and this one has \d+$/);
  });

  it("a witness that does not know the log or its key refuses, and the next head is cosigned once it does", async () => {
    const origin = await originOf();
    const key = witness.logs.get(origin)!;
    witness.logs.clear();
    await grow();
    await announce();
    expect(await cosigners()).to.deep.equal([other.name]);
    witness.logs.set(origin, signerOf(deps, "another.example/log").verifierKey);
    await grow();
    await announce();
    expect(refusals).to.deep.equal([`${witness.name}: it answered 404`, `${witness.name}: it answered 403`]);
    witness.logs.set(origin, key);
    await grow();
    await announce();
    expect(await cosigners()).to.deep.equal(both);
  });

  const lies: [string, Parameters<typeof witness.lie>[0], RegExp][] = [
    [
      "a signature of something else",
      ({ status }) => ({ status, text: witness.cosign("x\n") }),
      /no valid cosignature/,
    ],
    [
      "a signature of another witness",
      ({ status, text }) => ({ status, text: text.replace("/w1 ", "/w3 ") }),
      /no valid cosignature/,
    ],
    ["nothing", ({ status }) => ({ status, text: "" }), /no valid cosignature/],
    ["an endless answer", ({ status }) => ({ status, text: "x".repeat(20_000) }), /longer than 16384 bytes/],
    ["a redirect", () => ({ status: 302, text: other.url }), /it answered 302/],
    ["a size that is none", () => ({ status: 409, text: "many\n" }), /409 without the size/],
    ["a size again and again", () => ({ status: 409, text: "1\n" }), /it answered 409/],
    ["a server error", () => ({ status: 503, text: "" }), /no answer: it answered 503/],
    ["no answer", () => undefined, /no answer/],
  ];
  for (const [what, lie, reason] of lies)
    it(`a witness that answers with ${what} adds nothing, and the head is announced without it`, async () => {
      await grow();
      witness.lie(lie);
      await announce();
      expect(refusals).to.have.length(1);
      expect(refusals[0]).to.match(reason);
      expect(await cosigners()).to.deep.equal([other.name]);
      expect(await deps.auditHeads.unannounced(service.clock.now())).to.deep.equal([]);
    });

  it("a witness that does not answer is not asked about the other trees of the same minute", async () => {
    const second = await service.workspace();
    await grow();
    await signHead(deps, second.id);
    witness.lie(() => ({ status: 500, text: "" }));
    await announce();
    expect(witness.answers).to.deep.equal([500]);
    expect(other.answers.length).to.be.above(1);
  });
});
