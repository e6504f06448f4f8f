import type { Classification } from "./events.ts";

/** Whose mail it is, decided once, at filing (src/commands/inbound/filing/judgeMail.ts). src/mailKinds.md has the table in words. */
export type MailKind =
  /** Words of somebody outside, directly or by a list. */
  | "customer"
  /** Mail that a program wrote about something new: a web form, a notification. Its answer may go to a person. */
  | "program"
  /** A mail of ours that came back with other words in it: its sender's mail. */
  | "altered_copy"
  /** Mail that the service had put aside, and that a person filed as a message. */
  | "filed_by_hand"
  /** Mail of another identity of the same workspace, as it was sent. */
  | "colleague"
  | "automatic_reply"
  /** A report about a mail of ours: a bounce, a delay, a receipt, a complaint. */
  | "report"
  /** Our own mail, as it was sent. It is no message. */
  | "own_copy"
  /** A sign that somebody put on a mail of ours. It is no message of its own. */
  | "reaction";

/** Why a mail that is nobody's word is listed aside: its kind; `hand_over` is a colleague's mail that asks for a review. */
export type PutAside = Exclude<MailKind, "customer" | "program" | "altered_copy" | "filed_by_hand"> | "hand_over";

export type MailEffects = {
  /** It triggers email.received: rules, webhooks and agents. */
  fires: boolean;
  /** It is the customer's newer word: drafts that answer an older message are stale. */
  makesStale: boolean;
  /** It opens a waiting thread, and may ask for a review of its thread. */
  opens: boolean;
  /** Its answer may be approved without a person. */
  mayBeGranted: boolean;
  /** Its answer is an answer to a machine (streams/thread/loopGuard.ts). */
  isMachine: boolean;
};

const effects = (...those: (keyof MailEffects)[]): MailEffects => ({
  fires: those.includes("fires"),
  makesStale: those.includes("makesStale"),
  opens: those.includes("opens"),
  mayBeGranted: those.includes("mayBeGranted"),
  isMachine: those.includes("isMachine"),
});

/** Effects of each kind. Everything that depends on whose mail it is asks this table. */
export const mailEffects: Readonly<Record<MailKind, MailEffects>> = {
  customer: effects("fires", "makesStale", "opens", "mayBeGranted"),
  program: effects("fires", "makesStale", "opens", "isMachine"),
  altered_copy: effects("fires", "makesStale", "opens", "isMachine"),
  filed_by_hand: effects("fires", "makesStale", "opens"),
  colleague: effects("mayBeGranted"),
  automatic_reply: effects("mayBeGranted", "isMachine"),
  report: effects("mayBeGranted", "isMachine"),
  own_copy: effects(),
  reaction: effects(),
};

/** Kind of a mail whose decision names none. */
const kindByClass: Readonly<Record<Classification, MailKind>> = {
  person: "customer",
  list: "customer",
  auto_reply: "automatic_reply",
  bounce: "report",
};

/** A received mail, as far as its kind is concerned. `kind`: absent or null if its class says it. */
export type KindedMail = { classification: string | null; kind?: string | null };

/** Returns the kind of a received mail; null for a mail of ours, which has no class. */
export const kindOf = ({ classification, kind }: KindedMail): MailKind | null =>
  (kind as MailKind | null | undefined) ??
  (classification === null ? null : kindByClass[classification as Classification]);

/** The kind as an event stores it: only if the class does not say it. */
export const kindToStore = (kind: MailKind, classification: Classification): { kind?: MailKind } =>
  kindByClass[classification] === kind ? {} : { kind };

const has = (mail: KindedMail, effect: keyof MailEffects): boolean => {
  const kind = kindOf(mail);
  return kind !== null && mailEffects[kind][effect];
};

/** True if the mail is the customer's word. False for a mail of ours. */
export const isWord = (mail: KindedMail): boolean => has(mail, "makesStale");

export const isFromMachine = (mail: KindedMail): boolean => has(mail, "isMachine");

export const opensThread = (mail: KindedMail): boolean => has(mail, "opens");

export const mayBeGranted = (mail: KindedMail): boolean => has(mail, "mayBeGranted");

/** True if a mail triggers rules and webhooks: it is somebody's word, and its sender is not a blocked contact. */
export const triggersRules = ({ fromBlocked, ...mail }: KindedMail & { fromBlocked: boolean }): boolean =>
  has(mail, "fires") && !fromBlocked;

const words = (Object.keys(mailEffects) as MailKind[]).filter((kind) => mailEffects[kind].makesStale);

/** Returns isWord as an SQL condition on a column with the kind. */
export const isWordSql = (column: string): string => `${column} in (${words.map((kind) => `'${kind}'`).join(", ")})`;
