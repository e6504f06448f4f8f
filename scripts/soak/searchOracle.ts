import { parseQuery, type SearchTerm, type SearchWord } from "#projections/search/parseQuery.ts";
import { type SearchTexts, senderTerms as termsOfSender } from "#projections/search/queries.ts";
import { wordsOf } from "#projections/search/words.ts";
import { type Event, idOf } from "#streams/event.ts";

/** A message in memory: the folded words of its sender and of its fields. `threadId`: as its event names it. */
export type OracleMessage = {
  id: string;
  threadId: string;
  draftId: string | null;
  sender: string[];
  /** Subject and body. */
  fields: string[][];
};

/** An event and its stream, as far as a search needs them. */
export type OracleEvent = Pick<Event, "type" | "data"> & { stream: string };

/** Answers searches by comparing every message, without a database. */
export type SearchOracle = {
  apply(event: OracleEvent): void;
  messages(): OracleMessage[];
  /** All words that a message ever had, those of no message any more among them. */
  words(): string[];
  /** Words of the edited name and the address of each contact that has one. */
  editedNames(): string[][];
  /** Returns the thread that has the messages of a thread, after all merges. */
  survivorOf(threadId: string): string;
  /** Returns whether a search finds a thread, as of now: later events do not change that. */
  finds(texts: SearchTexts): (threadId: string) => boolean;
};

/** Characters of a body that are searched, and number of words that a part of a word may stand for. */
const [searchedCharacters, mostAlternatives] = [20_000, 200];

export function createOracle(): SearchOracle {
  const messages = new Map<string, OracleMessage>();
  const survivors = new Map<string, string>();
  /** Edited names of contacts, and the contacts of threads. */
  const [names, contacts] = [new Map<string, EditedName>(), new Map<string, string | null>()];
  const [words, senderWords] = [new Set<string>(), new Set<string>()];

  const survivorOf = (threadId: string): string => {
    const survivor = survivors.get(threadId);
    return survivor === undefined ? threadId : survivorOf(survivor);
  };

  function add(message: OracleMessage): void {
    messages.set(message.id, message);
    for (const word of message.fields.flat()) words.add(word);
    for (const word of message.sender) senderWords.add(word);
  }

  const threadsWith = (isWanted: (message: OracleMessage) => boolean): Set<string> =>
    new Set([...messages.values()].filter(isWanted).map(({ threadId }) => survivorOf(threadId)));

  return {
    apply({ type, stream, data }: { type: string; stream: string; data: any }) {
      if (type === "MessageReceived") {
        const { messageId, from, subject, body, searchText } = data;
        const sender = from ? wordsOf(`${from.name} ${from.address}`) : [];
        const fields = fieldsOf(subject, body?.text ?? searchText);
        add({ id: messageId, threadId: idOf(stream), draftId: null, sender, fields });
      }
      if (type === "DraftQueued") {
        const { messageId, threadId, content, searchText } = data;
        const { subject, body_text } = content ?? searchText;
        add({
          ...{ id: messageId, threadId, draftId: idOf(stream), sender: [] },
          fields: fieldsOf(subject, body_text),
        });
      }
      if (type === "ThreadOpened") contacts.set(idOf(stream), data.contactId);
      if (type === "ContactDeleted") names.delete(idOf(stream));
      if (type === "ContactUpdated" && data.name === null) names.delete(idOf(stream));
      if (type === "ContactUpdated" && data.name) {
        const words = wordsOf(`${data.name} ${data.email}`);
        names.set(idOf(stream), { words, ofName: wordsOf(data.name).length });
      }
      if (type === "DraftMarkedStale")
        for (const { id, draftId } of messages.values()) if (draftId === idOf(stream)) messages.delete(id);
      if (type === "ThreadAbsorbed") survivors.set(data.absorbedId, idOf(stream));
    },
    messages: () => [...messages.values()],
    words: () => [...words],
    editedNames: () => [...names.values()].map(({ words }) => words),
    survivorOf,
    finds({ q, contact }) {
      const { having, without } = q === undefined ? { having: [], without: [] } : parseQuery(q);
      const senders = contact === undefined ? [] : termsOfSender(contact);
      if (q !== undefined && having.length + without.length === 0) return () => false;
      if (contact !== undefined && senders.length === 0) return () => false;
      const inText = (term: Phrase, { fields }: OracleMessage): boolean => fields.some((field) => has(field, term));
      const inSender = (term: Phrase, { sender }: OracleMessage): boolean => has(sender, term);
      const terms = having.map((term) => alternativesOf(term, words));
      const excluded = without.map((term) => alternativesOf(term, words));
      const senderTerms = senders.map((term) => alternativesOf(term, senderWords));
      const found = threadsWith((message) => terms.every((term) => inText(term, message)));
      const lost = threadsWith((message) => excluded.some((term) => inText(term, message)));
      const sent = threadsWith((message) => senderTerms.every((term) => inSender(term, message)));
      const named = [...names].filter(([, name]) => isNamed(name, senders));
      const ofNamed = new Set(named.map(([contact]) => contact));
      for (const [threadId, contact] of contacts) if (contact !== null && ofNamed.has(contact)) sent.add(threadId);
      return (id) =>
        (terms.length === 0 || found.has(id)) && !lost.has(id) && (senderTerms.length === 0 || sent.has(id));
    },
  };
}

const fieldsOf = (subject: string | undefined, body: string | null | undefined): string[][] =>
  [subject ?? "", (body ?? "").slice(0, searchedCharacters)].map(wordsOf);

/** Words of which a message must have one, for each word of a phrase. */
type Phrase = ReadonlySet<string>[];

/** Words of an edited name and the address; the first `ofName` are those of the name. */
type EditedName = { words: string[]; ofName: number };

/** True if name and address have all terms, and the name alone has at least one of them. */
function isNamed({ words, ofName }: EditedName, terms: readonly SearchTerm[]): boolean {
  const within = (some: string[]) => (term: SearchTerm) => has(some, alternativesOf(term, new Set(some)));
  return terms.every(within(words)) && terms.some(within(words.slice(0, ofName)));
}

/** True if the words of the phrase are next to one another, in its order. */
const has = (field: readonly string[], phrase: Phrase): boolean =>
  field.some(
    (word, start) =>
      phrase[0]?.has(word) && phrase.every((alternatives, at) => alternatives.has(field[start + at] ?? "")),
  );

const alternativesOf = ({ words }: SearchTerm, vocabulary: ReadonlySet<string>): Phrase =>
  words.map((word) => new Set(word.match === "whole" ? [word.word] : shortestWith(word, vocabulary)));

/** Returns the shortest words of a vocabulary that contain a part; of words of one length the first by their characters. */
function shortestWith(part: SearchWord, vocabulary: ReadonlySet<string>): string[] {
  const containing = [...vocabulary].filter((word) => word.length >= 3 && isPartOf(part, word));
  const keyed = containing.map((word) => ({ word, length: [...word].length, bytes: Buffer.from(word) }));
  keyed.sort((a, b) => a.length - b.length || Buffer.compare(a.bytes, b.bytes));
  return keyed.slice(0, mostAlternatives).map(({ word }) => word);
}

function isPartOf({ word: part, match }: SearchWord, word: string): boolean {
  if (match === "prefix") return word.startsWith(part);
  return match === "suffix" ? word.endsWith(part) : word.includes(part);
}
