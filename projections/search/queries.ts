import { json, type Tx } from "../projection.ts";
import { parseQuery, type SearchTerm } from "./parseQuery.ts";
import { wordsOf } from "./words.ts";

/** SQL condition: {n} stands for its value, {m} for its second value, if it has one. */
export type Condition = readonly [sql: string, value: string | boolean | readonly string[], second?: readonly string[]];

/** Kind of the words that are searched: of messages, or (their prefix in the index) of names and addresses of senders. */
type WordClass = "" | "@";

/** Words that a message must have, and words that no message of its thread may have. `byName`: contacts whose edited name matches. */
type Wanted = { words: WordClass; having: SearchTerm[]; without: SearchTerm[]; byName: readonly string[] };

/** Words that one message must have. */
export type WantedWords = { words: WordClass; having: readonly SearchTerm[] };

/**
 * Conditions for the threads that a search finds, in two forms. `walk` looks at the messages of one thread after the other: fast if so many
 * threads match that a list in its order is soon full. `lookUp` finds all matching threads by the index of words: fast if they are few.
 * `first`: words of `q` or `contact` for which the index can be asked alone, and the walk's other conditions. Absent if the search has only
 * exclusions, or only a `contact` that matches edited names.
 */
export type SearchConditions = {
  walk: Condition[];
  lookUp: Condition[];
  first?: { wanted: WantedWords; others: Condition[] };
};

/**
 * Search for threads in which one message has all words wanted, no message has an excluded one, and one is from such a sender, or the
 * edited name of the thread's contact matches.
 */
export type SearchTexts = {
  q?: string | undefined;
  /** Parts of the sender's name or address, or of the contact's edited name. */
  contact?: string | undefined;
};

/** Prepares a search in `threads`. Undefined if it finds nothing: it has no word, or a part that is in no word. */
export async function prepareSearch(sql: Tx, texts: SearchTexts): Promise<SearchConditions | undefined> {
  const wanted = wantedBy(texts);
  if (wanted.some(hasNoWord)) return undefined;
  for (const each of wanted) if (each.words === "@") each.byName = await contactsByEditedName(sql, each.having);
  const wanting: { wanted: Wanted; condition: Condition }[] = [];
  const excluding: Condition[] = [];
  for (const each of wanted) {
    const { words, having, without, byName } = each;
    if (having.length > 0) {
      const query = await wordsQuery(sql, words, having);
      if (query === null && byName.length === 0) return undefined;
      wanting.push({ wanted: each, condition: wantedCondition(query, byName) });
    }
    for (const term of without) {
      const query = await wordsQuery(sql, words, [term]);
      if (query !== null) excluding.push([`${hasMessage} is null`, query]);
    }
  }
  const walk = [...wanting.map(({ condition }) => condition), ...excluding];
  const at = wanting.findIndex((one) => one.wanted.byName.length === 0);
  return {
    walk,
    lookUp: wanted.flatMap((each) => lookUp("threads.id", each)),
    ...(at >= 0 && { first: { wanted: wanting[at]!.wanted, others: walk.toSpliced(at, 1) } }),
  };
}

function wantedCondition(query: string | null, byName: readonly string[]): Condition {
  if (query === null) return [isByName("{n}"), byName];
  return byName.length === 0 ? [hasMessage, query] : [`(${hasMessage} or ${isByName("{m}")})`, query, byName];
}

/** Maximum number of contacts found by an edited name. The threads of further contacts are not found. */
const mostByName = 5_000;

/** Returns the contacts whose edited name and address together match all terms, at least one of them in the name alone. */
async function contactsByEditedName(sql: Tx, terms: readonly SearchTerm[]): Promise<string[]> {
  const patterns = terms.map(patternOf).sort((a, b) => b.length - a.length);
  const { rows } = await sql.query<{ id: string }>("select work.contacts_by_edited_name($1, $2) as id", [
    patterns,
    mostByName,
  ]);
  return rows.map(({ id }) => id);
}

/** Returns the pattern of a term in words between spaces. */
function patternOf({ words }: SearchTerm): string {
  const [first, last] = [words[0]!.match, words.at(-1)!.match];
  const start = first === "whole" || first === "prefix" ? " " : "";
  const end = last === "whole" || last === "suffix" ? " " : "";
  return `%${start}${words.map(({ word }) => word).join(" ")}${end}%`;
}

/**
 * Returns the threads of at most `most` messages with these words, found by the index of words. `areAll`: no other thread has such a
 * message.
 */
export async function someThreadsWith(
  sql: Tx,
  { words, having }: WantedWords,
  most: number,
): Promise<{ ids: string[]; areAll: boolean }> {
  const { rows } = await sql.query<{ ids: string[] | null; messages: number }>(
    "select array_agg(distinct id) as ids, count(*)::int as messages from work.threads_with($1, $2, $3) id",
    [words, json(having), most],
  );
  const { ids, messages } = rows[0]!;
  return { ids: ids ?? [], areAll: messages < most };
}

const wantedBy = ({ q, contact }: SearchTexts): Wanted[] => [
  ...(q === undefined ? [] : [{ words: "" as const, ...parseQuery(q), byName: [] }]),
  ...(contact === undefined ? [] : [{ words: "@" as const, having: senderTerms(contact), without: [], byName: [] }]),
];

const hasNoWord = ({ having, without }: Wanted): boolean => having.length + without.length === 0;

async function wordsQuery(sql: Tx, words: WordClass, terms: readonly SearchTerm[]): Promise<string | null> {
  const { rows } = await sql.query<{ query: string | null }>("select work.words_query($1, $2)::text as query", [
    words,
    json(terms),
  ]);
  return rows[0]?.query ?? null;
}

/** True or null. As a scalar with a limit, the planner cannot turn it into a join with all matching messages. */
const hasMessage =
  "(select true from message_words m where m.thread_id = threads.id and m.words @@ {n}::tsquery limit 1)";

const isByName = (value: string): string => `primary_contact_id = any(${value}::uuid[])`;

/** The function is called once for each condition, and each of its threads is looked up by its key. */
const lookUp = (column: string, { words, having, without, byName }: Wanted): Condition[] => [
  ...(having.length > 0
    ? [lookedUp(`${column} = any(array(select work.threads_with('${words}', {n})))`, having, byName)]
    : []),
  ...without.map((term): Condition => [`${column} not in (select work.threads_with('${words}', {n}))`, json([term])]),
];

const lookedUp = (withWords: string, terms: readonly SearchTerm[], byName: readonly string[]): Condition =>
  byName.length === 0 ? [withWords, json(terms)] : [`(${withWords} or ${isByName("{m}")})`, json(terms), byName];

/** Returns the conditions of a search, by look-up alone. */
export function matchingWordsSql(column: string, q: string): Condition[] {
  const wanted = wantedBy({ q });
  return wanted.some(hasNoWord) ? nothing : wanted.flatMap((each) => lookUp(column, each));
}

/** Returns what a sender's name or address has to contain; empty if the text has no word. */
export function senderTerms(text: string): SearchTerm[] {
  const { having } = parseQuery(text.replaceAll('"', " ").replaceAll(/(^|\s)-/g, " "));
  return wordsOf(text).length === 0 ? [] : having;
}

/** Condition for a search without words, which finds nothing. */
export const nothing: Condition[] = [["{n}::boolean", false]];
