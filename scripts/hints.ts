import { readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type HintKind, hintsAbout } from "../src/channels/hints/hints.ts";
import { extractReply } from "../src/mail/in/bodies.ts";
import { readHeaders } from "../src/mail/in/headers.ts";
import { parseMail } from "../src/mail/in/parseMail.ts";

/**
 * `npx tsx scripts/hints.ts FOLDER …`: which hints the mails in these folders get (one mail a file; a file without headers is a text). Prints
 * each hint, then how many mails there were and how many hints of each kind: what is honest mail tells how often hints are wrong.
 */
const kinds: readonly HintKind[] = ["agent", "hidden", "secrets", "payment"];
const limits = { maxHtmlBytes: 1024 * 1024, maxTextBytes: 1024 * 1024, maxAttachments: 100 };
const counts = new Map<HintKind, number>();
let mails = 0;
let withText = 0;
let slowestMs = 0;
let totalMs = 0;

for (const folder of process.argv.slice(2)) {
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    const file = join(folder, name);
    if (statSync(file).isFile() && /\.(eml|txt|msg)$|\/\d+$/.test(file)) await look(file);
  }
}
if (mails === 0) {
  console.error("usage: npx tsx scripts/hints.ts FOLDER … (mails as files: .eml, .txt, .msg)");
  process.exit(1);
}
console.log(`${mails} mails, ${withText} of them with a text that could be read`);
for (const kind of kinds) console.log(`${kind}: ${counts.get(kind) ?? 0}`);
console.log(`slowest ${slowestMs.toFixed(1)} ms, on average ${(totalMs / mails).toFixed(2)} ms`);

async function look(file: string): Promise<void> {
  const heard = await read(readFileSync(file));
  mails += 1;
  if (heard.text?.trim() || heard.html) withText += 1;
  const began = performance.now();
  const hints = hintsAbout(heard);
  const took = performance.now() - began;
  slowestMs = Math.max(slowestMs, took);
  totalMs += took;
  for (const { kind, sentence } of hints) {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    console.log(`${kind}\t${file}\t${sentence}`);
  }
}

async function read(raw: Buffer): Promise<Parameters<typeof hintsAbout>[0]> {
  const start = raw.subarray(0, 4096).toString("latin1");
  if (!/^[\w-]+:[ \t]/.test(start) && !start.startsWith("From ")) {
    const text = raw.toString("utf8");
    return { subject: "", text, newText: extractReply(text), html: null };
  }
  const { bodyText, bodyHtml, extractedText } = await parseMail(raw, limits);
  const { subject } = readHeaders(raw);
  return { subject, text: bodyText, newText: extractedText.trim() ? extractedText : (bodyText ?? ""), html: bodyHtml };
}
