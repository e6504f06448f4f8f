import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A mail as it goes over the wire, and the conversation it belongs to. */
export type CorpusMail = { name: string; raw: Buffer; conversation: string };

const archive = fileURLToPath(new URL("../../../shared/mail/list-mail.tar.xz", import.meta.url));

export const hasListMail = (): boolean => existsSync(archive);

/** Whole conversations of the shared mailing list mail, at least `count` mails (2,500 are all), in the order of the files. */
export function listMail(count: number): CorpusMail[] {
  const folder = mkdtempSync(join(tmpdir(), "countersign-mail-"));
  try {
    execFileSync("tar", ["xJf", archive, "-C", folder]);
    const lines = readFileSync(join(folder, "list-mail.threads.tsv"), "utf8").split("\n");
    const pairs = lines.filter((line) => /^\d+\t/.test(line)).map((line) => line.split("\t") as [string, string]);
    const chosen = new Set<string>();
    let mails = 0;
    for (const [conversation] of pairs) {
      if (chosen.has(conversation)) continue;
      if (mails >= count) break;
      chosen.add(conversation);
      mails += pairs.filter(([other]) => other === conversation).length;
    }
    return pairs
      .filter(([conversation]) => chosen.has(conversation))
      .map(([conversation, name]) => ({
        name,
        conversation,
        raw: onTheWire(readFileSync(join(folder, "list-mail", name))),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Conversations of our own, for machines without the shared mail: chains, forks, and answers to mails never seen. */
export function ownMail(count: number): CorpusMail[] {
  const perConversation = 7;
  return Array.from({ length: count }, (_, n) => {
    const conversation = Math.floor(n / perConversation);
    const place = n % perConversation;
    const id = (number: number) => `<${conversation}.${number}@own.example>`;
    const answers =
      place === 0
        ? []
        : [
            `In-Reply-To: ${id(Math.floor((place - 1) / 2))}`,
            `References: ${id(-1)} ${id(Math.floor((place - 1) / 2))}`,
          ];
    const lines = [
      ...[`Message-ID: ${id(place)}`, `From: Writer ${place} <writer${place}@own.example>`, "To: list@own.example"],
      ...[`Subject: Conversation ${conversation}`, "Date: Mon, 16 Nov 2026 10:00:00 +0000", ...answers],
      ...["", `Word ${place} of conversation ${conversation}.`, "..a line that begins with dots", ""],
    ];
    return {
      name: `${conversation}.${place}`,
      conversation: String(conversation),
      raw: Buffer.from(lines.join("\r\n")),
    };
  });
}

const onTheWire = (file: Buffer): Buffer => {
  const text = file.toString("latin1").replace(/\r?\n/g, "\r\n");
  return Buffer.from(text.endsWith("\r\n") ? text : `${text}\r\n`, "latin1");
};
