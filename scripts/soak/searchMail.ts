import { randomUUID } from "node:crypto";
import { contactId } from "#projections/derivedId.ts";
import { contactStream } from "#streams/contact/events.ts";
import type { Event } from "#streams/event.ts";
import type { Random } from "../support/random.ts";
import type { OracleEvent, SearchOracle } from "./searchOracle.ts";

/** Texts with signs of the search's grammar, of SQL and of tsquery, and with letters that have several forms. */
export const hostileTexts = [
  "Müller Straße Łódź Søren Æbelø İstanbul ＦＵＬＬ Cafe\u0301 ﬁnance ½ №5 Acme™ 𝐇𝐞𝐥𝐥𝐨",
  "東京タワーの見積書 請求書第３号 ใบแจ้งหนี้ 서울 Привет мир مرحبا",
  "an \"inner quote\" 'single' back\\slash -minus --double well-known a-b-c",
  "&|!:* (a & b) | !c:* <-> <2> 'x':1A {n} $1 %_ \\% ; drop table threads --",
  `${"long".repeat(30)} ${"x".repeat(400)} ${"x".repeat(59)}y ${"x".repeat(60)}z`,
  "nul\0byte lone\ud800surrogate \udfffend \u200bzero\u00adwidth",
  `x${"𐐨".repeat(40)} ${"𐐨".repeat(40)} 𐐨𐐨 𠀀𠀁 𐌰𐌱𐌲`,
  "aaa aaaa aaab baaa aaa aaa ab ab aba bab",
  "ann.lee+tag@mail.customer.example @ann https://shop.example/order?id=4711&x=1 +49 (0)30 123-456 1,234.50 4711",
];

/** Events for one stream. */
export type SearchChange = { stream: string; events: Event[] };

/** A workspace whose mail changes. `threads`: the threads that still exist by themselves; `absorbed`: those that were merged. */
export type SearchedMail = {
  random: Random;
  oracle: SearchOracle;
  workspaceId: string;
  identities: readonly string[];
  threads: string[];
  absorbed: string[];
};

/**
 * Draws changes of mail, each of other threads: so a search of a thread during the changes finds what it found before or what it finds after
 * them. `onlyKnown`: no mail has a new word, which might displace another one among those that a part of a word stands for.
 */
export function drawChanges(
  mail: SearchedMail,
  { count, onlyKnown }: { count: number; onlyKnown: boolean },
): SearchChange[] {
  const untouched = new Set(mail.threads);
  const known = mail.oracle.words();
  const { random, oracle, threads, absorbed } = mail;
  const take = (): string => {
    const id = random.pick([...untouched]);
    untouched.delete(id);
    return id;
  };
  const text = (): string => {
    const words = Array.from({ length: 1 + random.below(12) }, () => random.pick(known));
    if (!onlyKnown && random.chance(0.7)) words.splice(random.below(words.length), 0, random.pick(hostileTexts));
    if (!onlyKnown && random.chance(0.2)) words.push(random.word());
    return words.join(" ");
  };
  const opened = (openedBy?: string): Event => {
    const identityId = random.pick(mail.identities);
    const contactEmail = random.pick(people)?.address ?? null;
    const contact = contactEmail === null ? null : contactId(mail.workspaceId, contactEmail);
    const data = { workspaceId: mail.workspaceId, identityId, subject: "New", contactEmail, contactId: contact };
    return { type: "ThreadOpened", data: openedBy ? { ...data, openedBy } : data };
  };
  const received = (): Event => {
    const person = random.pick(people);
    const body = { text: text(), html: null, extracted: "" };
    const content = random.chance(0.9) ? { body, searchText: null } : { body: null, searchText: text() };
    // A few times alone, so that several threads have the same.
    const receivedAt = new Date(Date.now() - random.below(50) * 86_400_000).toISOString().slice(0, 10);
    return {
      type: "MessageReceived",
      data: {
        ...{ messageId: randomUUID(), receivedAt: `${receivedAt}T12:00:00.000Z`, subject: text(), ...content },
        ...{ from: person, to: [], cc: [] },
      },
    };
  };
  const queued = (threadId: string): Event => {
    const written = { subject: text(), body_text: text() };
    const content = random.chance(0.9) ? { content: written } : { content: null, searchText: written };
    return { type: "DraftQueued", data: { messageId: randomUUID(), threadId, ...content } };
  };
  const renamed = (): SearchChange[] => {
    const email = random.pick(people)?.address ?? "nobody@customer.example";
    // A word of many senders, a rare name, and others.
    const name = random.chance(0.2)
      ? null
      : `${random.pick(["Customer", "Renée Núñez-Ortega"])} ${text()}`.slice(0, 200);
    const events = [{ type: "ContactUpdated", data: { workspaceId: mail.workspaceId, email, name } }];
    return [{ stream: contactStream(contactId(mail.workspaceId, email)), events }];
  };
  const drafts = oracle.messages().filter(({ draftId }) => draftId !== null);

  const kinds: (() => SearchChange[])[] = [
    () => [{ stream: `thread-${take()}`, events: [received()] }],
    () => {
      const id = randomUUID();
      threads.push(id);
      return [{ stream: `thread-${id}`, events: [opened(), received()] }];
    },
    () => {
      const [absorbedId, survivorId] = [take(), take()];
      threads.splice(threads.indexOf(absorbedId), 1);
      absorbed.push(absorbedId);
      const parts = 1 + random.below(2);
      const part = (_: unknown, n: number): Event => ({
        type: "ThreadAbsorbed",
        data: { absorbedId, part: { n: n + 1, of: parts } },
      });
      return [
        { stream: `thread-${absorbedId}`, events: [{ type: "ThreadFrozen", data: { survivorId, number: 1 } }] },
        { stream: `thread-${survivorId}`, events: Array.from({ length: parts }, part) },
      ];
    },
    // A draft may be queued on a thread that was merged meanwhile.
    () => {
      const late = absorbed.find((id) => random.chance(0.3) && untouched.delete(oracle.survivorOf(id)));
      return [{ stream: `draft-${randomUUID()}`, events: [queued(late ?? take())] }];
    },
    () => {
      const draft = random.pick(drafts);
      if (!draft || !untouched.delete(oracle.survivorOf(draft.threadId))) return [];
      return [{ stream: `draft-${draft.draftId}`, events: [{ type: "DraftMarkedStale", data: { newMessageId: "" } }] }];
    },
    () => [{ stream: `thread-${take()}`, events: [random.pick(threadChanges)] }],
    // A mail of ours opens a thread, which is listed or not, and has no message yet.
    () => {
      const id = randomUUID();
      threads.push(id);
      return [
        { stream: `thread-${id}`, events: [opened(random.pick(["send", "test_email"]))] },
        { stream: `draft-${randomUUID()}`, events: [queued(id)] },
      ];
    },
  ];
  // Left out during searches: a new name changes many threads at once, but each change must be of other threads.
  const drawn = onlyKnown ? kinds : [...kinds, renamed];
  return Array.from({ length: count }, () => random.pick(drawn)()).flat();
}

/** What the oracle has to know of changes. */
export const eventsOf = (changes: readonly SearchChange[]): OracleEvent[] =>
  changes.flatMap(({ stream, events }) => events.map((event) => ({ ...event, stream })));

/** Senders of changed mail, and none. */
const people = [
  { name: "Ann Lee", address: "ann.lee@mail.customer.example" },
  { name: "Müller, Jürgen", address: "j.mueller@muller.example" },
  { name: "見積 太郎", address: "taro@example.co.jp" },
  { name: '"; & | !', address: "o'neil+x@sub.domain.example" },
  { name: "", address: "lee.ann@customer.mail.example" },
  null,
];

const threadChanges: Event[] = [
  ...["open", "waiting", "closed"].map((status) => ({ type: "ThreadStatusChanged", data: { status, because: "" } })),
  ...["low", "normal", "high", "urgent"].map((priority) => ({ type: "ThreadPrioritySet", data: { priority } })),
  ...[true, false].map((needsReview) => ({ type: "ThreadReviewSet", data: { needsReview, reason: null } })),
];
