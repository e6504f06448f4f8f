import PostalMime from "postal-mime";
import { readHeaders } from "#src/mail/in/headers.ts";
import type { Classification } from "#streams/inbox/events.ts";
import { type CorpusFile, corpus } from "./mails.ts";

/** Measures the classification on archived mail, whose right classes follow from the archive, not from this code. */

export const classes = ["person", "list", "auto_reply", "bounce"] as const satisfies readonly Classification[];

export type Classified = { name: string; is: Classification; taken: Classification };

export type ClassificationFigures = {
  mails: readonly Classified[];
  /** Bounces that contain the Message-ID of their mail for a MIME parser, and those of them in which it is found. */
  matching: { shown: number; found: number };
};

/** The archives to measure on. */
export const archives = ["automatic", "replies", "list-mail"];

export async function classificationFigures(): Promise<ClassificationFigures> {
  // Mails with bare carriage returns are left out, as SMTP does not deliver them. Bodies without a header get one.
  const automatic = corpus("automatic").filter(({ name }) => !name.includes("/cr-only/"));
  const replies = corpus("replies").map(({ name, raw }) => ({ name, raw: Buffer.concat([plainHeader, raw]) }));
  const lists = corpus("list-mail").filter(({ name }) => name.endsWith(".eml"));
  const labelled = [
    ...automatic.map((file) => ({ ...file, is: automaticKind(file) })),
    ...replies.map((file) => ({ ...file, is: "person" as const })),
    ...lists.map((file) => ({ ...file, is: listKind(file) })),
  ];
  const matching = { shown: 0, found: 0 };
  const mails: Classified[] = [];
  for (const { name, raw, is } of labelled) {
    const { classification: taken, reportedMessageIds } = readHeaders(raw, returnPath(raw));
    mails.push({ name, is, taken });
    const shown = is === "bounce" ? await enclosedId(raw) : undefined;
    if (shown === undefined) continue;
    matching.shown += 1;
    if (reportedMessageIds.includes(shown)) matching.found += 1;
  }
  return { mails, matching };
}

/** Precision and recall of a class in percent, and the number of its mails. */
export function rates(mails: readonly Classified[], kind: Classification) {
  const [is, taken] = [mails.filter((mail) => mail.is === kind), mails.filter((mail) => mail.taken === kind)];
  const right = is.filter((mail) => mail.taken === kind).length;
  return { precision: percent(right, taken.length), recall: percent(right, is.length), of: is.length };
}

export const isMachine = (kind: Classification): boolean => kind === "bounce" || kind === "auto_reply";

const percent = (part: number, of: number): number => Math.round((1000 * part) / of) / 10;

const plainHeader = Buffer.from(
  "From: Ann <ann@customer.example>\r\nTo: support@agents.example\r\nSubject: Re: it\r\n\r\n",
);

/** By the archive's names: complaints (arf), automatic replies (RFC 3834), what is no bounce; all else is one, but for reports of a mere delay or success. */
function automaticKind({ name, raw }: CorpusFile): Classification {
  if (name.includes("/not-bounce/")) return "person";
  if (/\/(?:arf|rfc3834)-/.test(name)) return "auto_reply";
  const actions = [...raw.toString("latin1").matchAll(/^Action:\s*(\w+)/gim)].map(([, word = ""]) =>
    word.toLowerCase(),
  );
  const isGood = (word: string) => ["delayed", "delivered", "relayed", "expanded", "deliverable"].includes(word);
  return actions.length > 0 && actions.every(isGood) ? "auto_reply" : "bounce";
}

/** Mails of machines to lists, found by reading them. */
const machines: Record<string, Classification> = { "01436": "auto_reply", "01507": "bounce", "01542": "bounce" };

/** Classifies by fields of list servers that the code under test does not use. */
function listKind({ name, raw }: CorpusFile): Classification {
  const machine = machines[/(\d+)\.eml$/.exec(name)?.[1] ?? ""];
  const header = raw.toString("latin1", 0, 32_768).split(/\r?\n\r?\n/)[0] ?? "";
  const marks =
    /^(?:X-BeenThere|X-Mailing-List|Mailing-List|X-Bulkmail|Errors-To|Delivered-To: mailing list|Sender:.*-admin@)/im;
  return machine ?? (marks.test(header) ? "list" : "person");
}

/** Returns the envelope sender that the receiving server recorded, or undefined. */
function returnPath(raw: Buffer): string | undefined {
  const header = raw.toString("latin1", 0, 32_768).split(/\r?\n\r?\n/)[0] ?? "";
  return /^Return-Path:\s*<?([^\s>]*)>?\s*$/im.exec(header)?.[1];
}

/** Returns the Message-ID of the mail inside a bounce, as a MIME parser finds it. */
async function enclosedId(raw: Buffer): Promise<string | undefined> {
  const { text = "", attachments } = await PostalMime.parse(raw, { forceRfc822Attachments: true });
  const parts = attachments.map(({ content }) => Buffer.from(content as ArrayBuffer).toString("latin1"));
  for (const part of [...parts, text]) {
    const found = /^[> \t]*message-id:\s*(<[^<>\s]+>)/im.exec(part);
    if (found) return found[1];
  }
  return undefined;
}
