import type { ThreadFilter, ThreadRow } from "#projections/threads/queries.ts";
import type { Random } from "../support/random.ts";
import { hostileTexts } from "./searchMail.ts";
import type { OracleMessage, SearchOracle } from "./searchOracle.ts";

/** What is searched for, in which list. */
export type SearchQuestion = Omit<ThreadFilter, "limit" | "offset" | "after" | "searchLimits">;

/** A row of `threads`, listed or not. */
export type StoredRow = ThreadRow & { shown: boolean; listed: boolean };

/** Draws searches for what the messages have, and for what they do not have. */
export function drawQuestions(
  { random, oracle, rows }: { random: Random; oracle: SearchOracle; rows: readonly StoredRow[] },
  count: number,
): SearchQuestion[] {
  const messages = oracle.messages();
  const ranked = wordsByFrequency(messages);
  /** Draws a rank as often as its word is used: every order of magnitude of frequency is drawn as often as any other. */
  const word = (): string => ranked[Math.floor(ranked.length ** (random.below(1_000) / 1_000)) - 1] as string;
  const frequent = (): string => ranked[random.below(30)] as string;
  const anyWord = (): string => random.pick(ranked);
  const slice = (text: string, length: number): string => {
    const start = random.below(Math.max(1, text.length - length + 1));
    return text.slice(start, start + length);
  };
  const part = (): string => slice(random.chance(0.5) ? word() : anyWord(), 3 + random.below(4));
  /** Adjacent words of a message, some of them in another order, or over the border of two fields. */
  const phrase = (): string => {
    const { fields } = random.pick(messages);
    const field = random.chance(0.15) ? fields.flat() : random.pick(fields);
    const length = 2 + random.below(3);
    const start = random.below(Math.max(1, field.length - length + 1));
    const words = field.slice(start, start + length);
    return `"${(random.chance(0.3) ? words.reverse() : words).join(random.pick([" ", " ", "-", ", "]))}"`;
  };
  const ofOneMessage = (): string => {
    const words = random.pick(messages).fields.flat();
    return Array.from({ length: 2 + random.below(2) }, () => random.pick(words) ?? word()).join(" ");
  };
  const sender = (): string => {
    const words = random.chance(0.3) ? random.pick(oracle.editedNames()) : random.pick(messages).sender;
    if (words.length === 0) return anyWord();
    const start = random.below(words.length);
    const some = words.slice(start, start + 1 + random.below(4)).join(random.pick([" ", ".", "@", "-"]));
    return random.chance(0.4) ? slice(some, 3 + random.below(8)) : some;
  };

  const texts: (() => string)[] = [
    word,
    word,
    frequent,
    () => `"${frequent()}"`,
    () => `${frequent()} ${frequent()}`,
    () => `"${word()}"`,
    () => word().toUpperCase(),
    part,
    part,
    () => `${part()} ${part()}`,
    phrase,
    phrase,
    phrase,
    () => `${phrase()} ${word()}`,
    () => `-${word()}`,
    () => `-${phrase()} -${anyWord()}`,
    () => `${word()} -${word()}`,
    () => `${part()} -${phrase()}`,
    () => `${word()} ${word()}`,
    ofOneMessage,
    ofOneMessage,
    () => `${word()}.${word()}`,
    () => `inv-${random.below(9_000)}`,
    () => String(100 + random.below(900)),
    sender,
    () => random.pick(hostileTexts),
    () => slice(random.pick(hostileTexts), 1 + random.below(12)),
    () => slice(random.pick(hostileTexts), 1 + random.below(12)),
    () => random.pick(nonsense),
    () => Array.from({ length: 10 }, part).join(" "),
  ];
  const instant = (): Date | undefined => {
    const at = random.pick(rows).last_message_at;
    return at ? new Date(at.getTime() + random.below(3) - 1) : undefined;
  };
  const filters: (() => SearchQuestion)[] = [
    () => ({ identity_id: random.pick(rows).identity_id }),
    () => ({ status: random.pick(rows).status }),
    () => ({ needs_review: random.chance(0.3) }),
    () => ({ priority: random.pick(["low", "normal", "normal", "high", "urgent"]) }),
    () => defined({ from: instant() }),
    () => defined({ to: instant() }),
  ];
  const question = (): SearchQuestion => ({
    ...(random.chance(0.85)
      ? { q: random.pick(texts)() }
      : { contact: random.pick([sender, sender, sender, () => "customer", phrase])() }),
    ...(random.chance(0.1) && { contact: sender() }),
    ...(random.chance(0.4) && random.pick(filters)()),
    ...(random.chance(0.1) && random.pick(filters)()),
    ...(random.chance(0.3) && { sort: random.pick(["priority", "last_message_at"] as const) }),
  });
  return Array.from({ length: count }, question);
}

const defined = ({ from, to }: { from?: Date | undefined; to?: Date | undefined }): SearchQuestion => ({
  ...(from && { from }),
  ...(to && { to }),
});

/** Texts without a word that any message has, or without a word at all. */
const nonsense = [
  "",
  " ",
  '"',
  '-"',
  "--",
  '""',
  "&|!",
  "\0",
  "\ud800",
  "zzqqzzqq",
  '"zz qq"',
  "-zzqqzzqq",
  "%",
  "___",
];

function wordsByFrequency(messages: readonly OracleMessage[]): string[] {
  const counts = new Map<string, number>();
  for (const { fields } of messages)
    for (const word of new Set(fields.flat())) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([word]) => word);
}

/** True if a list has a thread, whatever is searched for. */
export function isListed(row: StoredRow, question: SearchQuestion): boolean {
  const { identity_id, status, needs_review, priority, from, to } = question;
  const at = row.last_message_at?.getTime();
  return (
    row.merged_into === null &&
    row.shown &&
    row.listed &&
    (identity_id === undefined || row.identity_id === identity_id) &&
    (status === undefined || row.status === status) &&
    (needs_review === undefined || row.needs_review === needs_review) &&
    (priority === undefined || row.priority === priority) &&
    (from === undefined || (at !== undefined && at >= from.getTime())) &&
    (to === undefined || (at !== undefined && at <= to.getTime()))
  );
}

/** Compares two threads by the order of the question's list. */
export function compareRows(a: ThreadRow, b: ThreadRow, { sort }: SearchQuestion): number {
  const urgency = ({ priority }: ThreadRow): number => ["low", "normal", "high", "urgent"].indexOf(priority);
  const at = ({ last_message_at }: ThreadRow): number => last_message_at?.getTime() ?? -1;
  return (
    (sort === "priority" ? urgency(b) - urgency(a) : 0) || at(b) - at(a) || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
  );
}
