import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const fixtures = fileURLToPath(new URL("../../fixtures/mail/", import.meta.url));
const shared = fileURLToPath(new URL("../../../../shared/mail/", import.meta.url));

/** Returns a mail of test/fixtures/mail with CRLF line ends. */
export const fixture = (name: string): Buffer =>
  Buffer.from(readFileSync(join(fixtures, `${name}.eml`), "latin1").replace(/\r?\n/g, "\r\n"), "latin1");

export const fixtureNames = (): string[] => readdirSync(fixtures).map((file) => file.replace(/\.eml$/, ""));

/** Makes a mail of these header lines and this body. */
export const mail = (headers: string[], body = ""): Buffer => Buffer.from(`${headers.join("\r\n")}\r\n\r\n${body}`);

export type CorpusFile = { name: string; raw: Buffer };

/** True if this archive of real mail is on the machine. */
export const hasCorpus = (name: string): boolean => existsSync(join(shared, `${name}.tar.xz`));

/** Returns the files of an archive, sorted by name. */
export function corpus(name: string): CorpusFile[] {
  const folder = mkdtempSync(join(tmpdir(), "corpus-"));
  try {
    execFileSync("tar", ["xJf", join(shared, `${name}.tar.xz`), "-C", folder]);
    return filesUnder(folder).map((file) => ({ name: relative(folder, file), raw: readFileSync(file) }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the mailing list mails with their conversations, sorted by name. */
export function listMail(): (CorpusFile & { conversation: string })[] {
  const files = corpus("list-mail");
  const table = files.find(({ name }) => name.endsWith(".tsv"))!.raw.toString();
  const conversationOf = new Map(
    [...table.matchAll(/^(\d+)\t(.+)$/gm)].map(([, id, name]) => [`list-mail/${name}`, id!]),
  );
  return files.flatMap((file) => {
    const conversation = conversationOf.get(file.name);
    return conversation === undefined ? [] : [{ ...file, conversation }];
  });
}

export const sharedJson = (name: string) => JSON.parse(readFileSync(join(shared, name), "utf8"));

const filesUnder = (folder: string): string[] =>
  readdirSync(folder)
    .sort()
    .map((entry) => join(folder, entry))
    .flatMap((path) => (statSync(path).isDirectory() ? filesUnder(path) : [path]));
