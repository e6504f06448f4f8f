import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { writeCheckpoint } from "#src/audit/checkpoint.ts";
import { writeProof } from "#src/audit/inclusionProof.ts";
import { foldHashes, hashEntry, proveInclusion, type ReadNodes, rootOf } from "#src/audit/merkle.ts";
import { noteSigner, signNote } from "#src/audit/signedNote.ts";
import { until } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import type { StoryTenant } from "#test/support/story/story.ts";
import { unpackInto } from "../../../scripts/support/unpack.ts";

export type Json = Record<string, any>;

export const approver = "jane@customer.example";

/** An identity whose drafts a person approves by mail. */
export const approvedByMail = {
  requireHumanApproval: true,
  approvalChannel: { type: "email" as const, config: { to: approver } },
};

/** Makes a draft whose second version is approved by a link in a mail, sent and delivered. */
export async function sentDraft(of: StoryTenant): Promise<StoryDraft> {
  const made = await of.draft(await of.mail());
  await made.edit({ body_text: "It arrives tomorrow." });
  const asking = async () => made.approvalMail(approver);
  await until(async () => (await asking()).text.includes("It arrives tomorrow."));
  await (await asking()).press("approve");
  await made.becomes("sent");
  await until(async () => (await made.history()).some(({ type }) => type === "DeliveryDelivered"));
  return made;
}

const verifier = fileURLToPath(import.meta.resolve("#src/audit/verify.mjs"));

/** Runs `verify.mjs` on a folder, as a separate process, and returns its output. `wrong`: a sentence for each fault. */
export type Verdict = { code: number; said: string; wrong: string[] };

/** Runs `verify.mjs` on a folder. */
export const verify = (folder: string, ...options: string[]): Promise<Verdict> =>
  new Promise((resolve) => {
    execFile(process.execPath, [verifier, folder, ...options], { env: {} }, (error, stdout, stderr) => {
      const wrong = stderr.split("\n").filter((line) => line !== "");
      resolve({ code: error ? Number(error.code) : 0, said: stdout, wrong });
    });
  });

const folders: string[] = [];

/** Makes an empty folder, which `removeFolders` removes. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-evidence-"));
  folders.push(folder);
  return folder;
}

export const removeFolders = () =>
  Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));

/** Downloads an archive, and returns the folder with its files. */
export async function download(url: string, key: string): Promise<string> {
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (!answer.ok) throw new Error(`${answer.status} ${bytes}`);
  const folder = await newFolder();
  await unpackInto(folder, bytes);
  return folder;
}

/** An entry and its disclosures, as JSON that a forger may change. `text`: its bytes, if they are not the JSON of the event. */
export type LooseEntry = { entry: number; event: Json; disclosures: string[]; text?: string };

/** The files of a draft's evidence, to be read and forged. */
export type Folder = Awaited<ReturnType<typeof openFolder>>;

/** Opens a copy of a folder with evidence. */
export async function openFolder(original: string) {
  const folder = await newFolder();
  await cp(original, folder, { recursive: true });
  const read = (name: string): Promise<string> => readFile(join(folder, name), "utf8");
  const write = (name: string, text: string | Buffer) => writeFile(join(folder, name), text);
  const disclosures = async (): Promise<{ entry: number; disclosure: string }[]> =>
    (await read("disclosures.jsonl"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  const entries = async (): Promise<LooseEntry[]> => {
    const disclosed = await disclosures();
    const numbers = (await readdir(join(folder, "entries"))).map((name) => Number.parseInt(name, 10));
    return Promise.all(
      numbers
        .sort((a, b) => a - b)
        .map(async (entry) => ({
          entry,
          event: JSON.parse(await read(`entries/${entry}.json`)),
          disclosures: disclosed.filter((each) => each.entry === entry).map(({ disclosure }) => disclosure),
        })),
    );
  };
  return {
    folder,
    read,
    write,
    entries,
    remove: (name: string) => rm(join(folder, name), { recursive: true }),
    /** Changes the text of a file. */
    async change(name: string, how: (text: string) => string) {
      const before = await read(name);
      const after = how(before);
      if (after === before) throw new Error(`${name} was not changed`);
      await write(name, after);
    },
    /** Exchanges two files. */
    async exchange(one: string, other: string) {
      const [first, second] = [await readFile(join(folder, one)), await readFile(join(folder, other))];
      await write(one, second);
      await write(other, first);
    },
    /** Changes the disclosures as a list. */
    async disclose(how: (list: { entry: number; disclosure: string }[]) => { entry: number; disclosure: string }[]) {
      const changed = how(await disclosures());
      await write("disclosures.jsonl", changed.map((each) => `${JSON.stringify(each)}\n`).join(""));
    },
    /** Returns the number of the entry with this type of event. */
    async numberOf(type: string): Promise<number> {
      const found = (await entries()).find(({ event }) => event.type === type);
      if (!found) throw new Error(`the evidence has no ${type}`);
      return found.entry;
    },
  };
}

const anotherOrigin = "mail.example.com/audit/00000000-0000-7000-8000-000000000001/1";

/** A key that is not the service's. */
export const anotherSigner = (origin = anotherOrigin) => noteSigner(origin, Buffer.alloc(32, 9));

/**
 * Replaces the entries of a folder by these, as the only ones of a tree that another key signs: what a service could sign that lies about
 * its history.
 */
export async function signAnew(
  { folder, write }: Folder,
  entries: readonly LooseEntry[],
  signer = anotherSigner(),
): Promise<void> {
  const bytes = entries.map(({ event, text }) => Buffer.from(text ?? JSON.stringify(event)));
  const hashes = bytes.map(hashEntry);
  const nodes: ReadNodes = async (wanted) =>
    wanted.map(({ level, number }) => foldHashes(hashes.slice(number * 2 ** level, (number + 1) * 2 ** level)));
  const size = entries.length;
  const head = { origin: signer.name, size, root: await rootOf(nodes, size) };
  const checkpoint = signNote(writeCheckpoint(head), signer);
  for (const name of ["entries", "proofs"]) {
    await rm(join(folder, name), { recursive: true });
    await mkdir(join(folder, name));
  }
  await write("policy", `log ${signer.verifierKey}\nquorum none\n`);
  await write("checkpoint", checkpoint);
  const lines = entries.flatMap(({ disclosures }, entry) =>
    disclosures.map((disclosure) => `${JSON.stringify({ entry, disclosure })}\n`),
  );
  await write("disclosures.jsonl", lines.join(""));
  for (const [entry, own] of bytes.entries()) {
    const proof = await proveInclusion(nodes, { entry, size });
    await write(`entries/${entry}.json`, own);
    await write(`proofs/${entry}.tlog-proof`, writeProof({ entry, hashes: proof, checkpoint }));
  }
}

/** Replaces the head, in the checkpoint and in each proof. */
export async function changeHead(folder: Folder, how: (checkpoint: string) => string): Promise<void> {
  const before = await folder.read("checkpoint");
  await folder.change("checkpoint", how);
  const after = await folder.read("checkpoint");
  for (const { entry } of await folder.entries())
    await folder.change(`proofs/${entry}.tlog-proof`, (text) => text.replace(before, () => after));
}

/** Expects that `verify.mjs` refuses a folder, with a sentence for each fault and without a word of what is proven. */
export async function isFound({ folder }: Folder, what = "", options: readonly string[] = []): Promise<void> {
  const { code, wrong, said } = await verify(folder, ...options);
  expect([code, said], what).to.deep.equal([1, ""]);
  expect(wrong, what).not.to.have.length(0);
  for (const sentence of wrong) expect(sentence, what).to.match(/^WRONG: .*\.$/);
}
