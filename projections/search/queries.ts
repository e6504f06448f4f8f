import { json, type Tx } from "../projection.ts";
import { parseQuery, type SearchTerm } from "./parseQuery.ts";
import { wordsOf } from "./words.ts";

/** SQL condition with its value in place of {n}, and a second one, if it has one, in place of {m}. */
export type Condition = readonly [sql: string, value: string | boolean | readonly string[], second?: readonly string[]];

/** Kind of the words that are searched: of messages, or (their prefix in the index) of names and addresses of senders. */
type WordClass = "" | "@";

/**
 * What a message must have, and what no message of its thread may have. `named`: contacts that were given such a name, whose threads are
 * found as well.
 */
type Wanted = { words: WordClass; having: SearchTerm[]; without: SearchTerm[]; named: readonly string[] };

/** Words that one message must have. */
export type WantedWords = { words: WordClass; having: readonly SearchTerm[] };

/**
 * Conditions for the threads that a search finds, in two forms. `walk` looks at the messages of one thread after the other: fast if so many
 * threads match that a list in its order is soon full. `lookUp` finds all matching threads by the index of words: fast if they are few.
 * `first`: words that the index can be asked for alone, and the conditions of the walk that are left then; absent if nothing but exclusions
 * or a given name is asked.
 */
export type SearchConditions = {
  walk: Condition[];
  lookUp: Condition[];
  first?: { wanted: WantedWords; others: Condition[] };
};

/**
 * Search for threads in which one message has all words wanted, no message has an excluded one, and one is from such a sender, or the
 * thread's contact was given such a name.
 */
export type SearchTexts = {
  q?: string | undefined;
  /** Parts of the sender's name or address. */
  contact?: string | undefined;
};

/** Prepares a search in `threads`. Undefined if it finds nothing: it has no word, or a part that is in no word. */
export async function prepareSearch(sql: Tx, texts: SearchTexts): Promise<SearchConditions | undefined> {
  const wanted = wantedBy(texts);
  if (wanted.some(hasNoWord)) return undefined;
  for (const each of wanted) if (each.words === "@") each.named = await contactsNamed(sql, each.having);
  const wanting: { wanted: Wanted; condition: Condition }[] = [];
  const excluding: Condition[] = [];
  for (const each of wanted) {
    const { words, having, without, named } = each;
    if (having.length > 0) {
      const query = await wordsQuery(sql, words, having);
      if (query === null && named.length === 0) return undefined;
      wanting.push({ wanted: each, condition: wantedCondition(query, named) });
    }
    for (const term of without) {
      const query = await wordsQuery(sql, words, [term]);
      if (query !== null) excluding.push([`${hasMessage} is null`, query]);
    }
  }
  const walk = [...wanting.map(({ condition }) => condition), ...excluding];
  const at = wanting.findIndex((one) => one.wanted.named.length === 0);
  return {
    walk,
    lookUp: wanted.flatMap((each) => lookUp("threads.id", each)),
    ...(at >= 0 && { first: { wanted: wanting[at]!.wanted, others: walk.toSpliced(at, 1) } }),
  };
}

function wantedCondition(query: string | null, named: readonly string[]): Condition {
  if (query === null) return [isNamed("{n}"), named];
  return named.length === 0 ? [hasMessage, query] : [`(${hasMessage} or ${isNamed("{m}")})`, query, named];
}

/** Number of contacts with a given name of whom the threads are found. */
const mostNamed = 5_000;

/** Returns the contacts that were given a name with these terms, at least one of them in the name and the others in the address. */
async function contactsNamed(sql: Tx, terms: readonly SearchTerm[]): Promise<string[]> {
  const patterns = terms.map(patternOf).sort((a, b) => b.length - a.length);
  const { rows } = await sql.query<{ id: string }>("select work.contacts_named($1, $2) as id", [patterns, mostNamed]);
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
  ...(q === undefined ? [] : [{ words: "" as const, ...parseQuery(q), named: [] }]),
  ...(contact === undefined ? [] : [{ words: "@" as const, having: senderTerms(contact), without: [], named: [] }]),
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

const isNamed = (value: string): string => `primary_contact_id = any(${value}::uuid[])`;

/** The function is called once for each condition, and each of its threads is looked up by its key. */
const lookUp = (column: string, { words, having, without, named }: Wanted): Condition[] => [
  ...(having.length > 0
    ? [lookedUp(`${column} = any(array(select work.threads_with('${words}', {n})))`, having, named)]
    : []),
  ...without.map((term): Condition => [`${column} not in (select work.threads_with('${words}', {n}))`, json([term])]),
];

const lookedUp = (withWords: string, terms: readonly SearchTerm[], named: readonly string[]): Condition =>
  named.length === 0 ? [withWords, json(terms)] : [`(${withWords} or ${isNamed("{m}")})`, json(terms), named];

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
