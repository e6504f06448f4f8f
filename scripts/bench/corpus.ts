import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const archive = fileURLToPath(new URL("../../../shared/mail/list-mail.tar.xz", import.meta.url));

/** Raw mails to send in: real ones of a mailing list where they lie beside the repository, made ones elsewhere. */
export async function mails(count: number): Promise<{ source: string; mails: Buffer[] }> {
  const real = existsSync(archive) ? await unpacked(count) : [];
  if (real.length === count) return { source: "mails of a real mailing list", mails: real };
  return { source: "made mails", mails: Array.from({ length: count }, (_, number) => made(number)) };
}

async function unpacked(count: number): Promise<Buffer[]> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-mail-"));
  try {
    if (spawnSync("tar", ["xJf", archive, "-C", folder]).status !== 0) return [];
    const names = await readdir(folder, { recursive: true });
    const files = names.filter((name) => name.endsWith(".eml")).sort();
    return await Promise.all(files.slice(0, count).map((name) => readFile(join(folder, name))));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const conversationLength = 4;

/** About 2.5 kB, in conversations of a few. */
function made(number: number): Buffer {
  const id = (of: number): string => `<bench.${of}@customer.example>`;
  const first = number - (number % conversationLength);
  const reply =
    number === first ? [] : [`In-Reply-To: ${id(number - 1)}`, `References: ${id(first)} ${id(number - 1)}`];
  const lines = [
    `From: Customer ${first} <customer${first}@customer.example>`,
    "To: support@agents.localhost",
    `Subject: ${number === first ? "" : "Re: "}Order ${first}`,
    `Message-ID: ${id(number)}`,
    "Date: Thu, 01 Jan 2026 10:00:00 +0000",
    ...reply,
    "Content-Type: text/plain; charset=utf-8",
    "",
    ...Array.from(
      { length: 30 },
      (_, line) => `Line ${line} of mail ${number}: where is my parcel, it was due on Monday already.`,
    ),
    "",
  ];
  return Buffer.from(lines.join("\r\n"));
}
