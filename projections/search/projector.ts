import type { ContactEvent } from "#streams/contact/events.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { InboundMessage, ThreadEvent } from "#streams/thread/events.ts";
import { contactId } from "../derivedId.ts";
import { moveRowsToSurvivors } from "../merges.ts";
import type { Projection, ProjectorTx } from "../projection.ts";
import { json } from "../projection.ts";
import { upsertRows } from "../rows.ts";
import { shortestPart } from "./parseQuery.ts";
import { searchVector, wordsOf } from "./words.ts";

/** Characters of each body that are searchable; the rest is not. */
const searchedCharacters = 20_000;

/** Events with searchable words of mail. */
type SearchableEvent = Extract<DraftEvent | ThreadEvent, { type: "MessageReceived" | "DraftQueued" }>;

type Row = { id: string; workspace_id: string; thread_id: string; draft_id: string | null; words: string };

/**
 * Returns the searchable words of a mail: its subject and the beginning of its body; for one too large for an event, the text that the
 * event has for this.
 */
function inbound(message: InboundMessage) {
  const { from, subject, body, searchText } = message;
  const sender = from ? `${from.name} ${from.address}` : "";
  return searchVector([subject, (body?.text ?? searchText ?? "").slice(0, searchedCharacters)], sender);
}

/** Like `inbound`, for a sent mail. */
const outbound = (mail: Pick<DraftContent, "subject" | "body_text"> | undefined) =>
  searchVector([mail?.subject ?? "", (mail?.body_text ?? "").slice(0, searchedCharacters)], "");

/** Full-text index of threads by the words of their messages, and edited names of contacts. */
export const search: Projection<DraftEvent | ThreadEvent | ContactEvent> = {
  name: "search",
  version: 4,
  independent: true,
  tables: ["message_words", "search_words", "search_thread_merges", "edited_names"],
  hasLateIndexes: true,
  handles: ["MessageReceived", "DraftQueued", "DraftMarkedStale", "ThreadAbsorbed", "ContactUpdated", "ContactDeleted"],
  async project(tx, events) {
    const rows = new Map<string, Row>();
    const vocabulary = new Map<string, Set<string>>();
    for (const event of events) {
      if (event.type !== "MessageReceived" && event.type !== "DraftQueued") continue;
      const { row, words } = rowOf(event);
      rows.set(row.id, row);
      const known = vocabulary.get(row.workspace_id) ?? new Set();
      vocabulary.set(row.workspace_id, known);
      for (const word of words) known.add(word);
    }
    writeRows(tx, [...rows.values()]);
    learn(tx, vocabulary);
    forgetUnsent(tx, events);
    writeEditedNames(tx, events);
    moveRowsToSurvivors(
      tx,
      { table: "message_words", merges: "search_thread_merges" },
      { events, written: [...rows.keys()] },
    );
  },
};

function rowOf(event: Recorded<SearchableEvent>): { row: Row; words: string[] } {
  const workspace_id = event.metadata.workspaceId as string;
  if (event.type === "MessageReceived") {
    const message = event.data;
    const { vector, words } = inbound(message);
    const row = { id: message.messageId, thread_id: idOf(event.stream), draft_id: null };
    return { row: { ...row, workspace_id, words: vector }, words };
  }
  const queued = event.data;
  const { vector, words } = outbound(queued.content ?? queued.searchText);
  const row = { id: queued.messageId, thread_id: queued.threadId, draft_id: idOf(event.stream) };
  return { row: { ...row, workspace_id, words: vector }, words };
}

function writeRows(tx: ProjectorTx, rows: readonly Row[]): void {
  if (rows.length === 0) return;
  tx.write(
    `insert into message_words (id, workspace_id, thread_id, draft_id, words)
     select id, workspace_id, thread_id, draft_id, words::tsvector
     from json_to_recordset($1::json) as r (id uuid, workspace_id uuid, thread_id uuid, draft_id uuid, words text)
     on conflict (id) do update set thread_id = excluded.thread_id, draft_id = excluded.draft_id, words = excluded.words`,
    [json(rows)],
  );
}

/**
 * Adds words to the vocabulary, only those long enough to be searched by parts. Nearly all are known: each is looked up by its key, and a
 * known one is not written again.
 */
function learn(tx: ProjectorTx, vocabulary: ReadonlyMap<string, ReadonlySet<string>>): void {
  for (const [workspaceId, words] of vocabulary) {
    tx.write(
      "insert into search_words (workspace_id, word) select $1, unnest($2::text[]) on conflict (workspace_id, word) do nothing",
      [workspaceId, [...words].filter((word) => word.length >= shortestPart)],
    );
  }
}

/** Removes the words of drafts that ended stale: their messages were never sent. */
function forgetUnsent(tx: ProjectorTx, events: readonly Recorded[]): void {
  const unsent = events.filter(({ type }) => type === "DraftMarkedStale").map(({ stream }) => idOf(stream));
  if (unsent.length === 0) return;
  tx.write("delete from message_words where draft_id = any($1::uuid[])", [unsent]);
}

/** Stores edited names. A removed name is deleted: the contact then takes its name from its next mail, which message_words has. */
function writeEditedNames(tx: ProjectorTx, events: readonly Recorded<DraftEvent | ThreadEvent | ContactEvent>[]): void {
  const names = new Map<string, { contact_id: string; workspace_id: string; name: string; words: string }>();
  for (const { type, data } of events) {
    if (type !== "ContactDeleted" && (type !== "ContactUpdated" || data.name === undefined)) continue;
    const { workspaceId: workspace_id, email } = data;
    const contact_id = contactId(workspace_id, email);
    const name = type === "ContactUpdated" ? data.name : null;
    names.set(contact_id, { contact_id, workspace_id, name: spaced(name ?? ""), words: spaced(`${name} ${email}`) });
  }
  const [rows, key] = [[...names.values()], ["contact_id"]];
  const gone = rows.filter(({ name }) => name === "").map(({ contact_id }) => contact_id);
  if (gone.length > 0) tx.write("delete from edited_names where contact_id = any($1::uuid[])", [gone]);
  const edited = rows.filter(({ name }) => name !== "");
  upsertRows(tx, { table: "edited_names", key, columns: ["contact_id", "workspace_id", "name", "words"] }, edited);
}

/** Returns the folded words of a text, with a space before and after each; "" for a text without words. */
const spaced = (text: string): string =>
  wordsOf(text)
    .map((word, n) => (n === 0 ? ` ${word} ` : `${word} `))
    .join("");
