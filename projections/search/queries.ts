import { json, type Tx } from "../projection.ts";
import { parseQuery, type SearchTerm } from "./parseQuery.ts";
import { wordsOf } from "./words.ts";

/** SQL condition on a column of thread ids, with its one value in place of {n}. */
export type Condition = readonly [sql: string, value: string | boolean | readonly string[]];

/** Kind of the words that are searched: of messages, or (their prefix in the index) of names and addresses of senders. */
type WordClass = "" | "@";

/** What a message must have, and what no message of its thread may have. */
type Wanted = { words: WordClass; having: SearchTerm[]; without: SearchTerm[] };

/** Words that one message must have. */
export type WantedWords = { words: WordClass; having: readonly SearchTerm[] };

/**
 * Conditions for the threads that a search finds, in two forms. `walk` looks at the messages of one thread after the other: fast if so many
 * threads match that a list in its order is soon full; absent if messages alone do not tell. `lookUp` finds all matching threads by the
 * index of words: fast if they are few. `first`: the words that the index can be asked for, and the conditions of the walk that are left
 * then; absent if nothing but exclusions is asked.
 */
export type SearchConditions = {
  walk?: Condition[];
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
  const isNamed = await hasNamedContact(sql, wanted);
  const byIndex = wanted.flatMap((each) => lookUp("threads.id", each, isNamed && each.words === "@"));
  if (isNamed) return { lookUp: byIndex };
  const [wanting, excluding]: [Condition[], Condition[]] = [[], []];
  for (const { words, having, without } of wanted) {
    if (having.length > 0) {
      const query = await wordsQuery(sql, words, having);
      if (query === null) return undefined;
      wanting.push([hasMessage, query]);
    }
    for (const term of without) {
      const query = await wordsQuery(sql, words, [term]);
      if (query !== null) excluding.push([`${hasMessage} is null`, query]);
    }
  }
  const walk = [...wanting, ...excluding];
  const having = wanted.find((each) => each.having.length > 0);
  return { walk, lookUp: byIndex, ...(having && { first: { wanted: having, others: walk.slice(1) } }) };
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

/** Returns whether a contact was given a name that is searched for. */
async function hasNamedContact(sql: Tx, wanted: readonly Wanted[]): Promise<boolean> {
  const terms = wanted.flatMap(({ words, having }) => (words === "@" ? having : []));
  if (terms.length === 0) return false;
  const { rows } = await sql.query("select from work.contacts_named($1) limit 1", [json(terms)]);
  return rows.length > 0;
}

const wantedBy = ({ q, contact }: SearchTexts): Wanted[] => [
  ...(q === undefined ? [] : [{ words: "" as const, ...parseQuery(q) }]),
  ...(contact === undefined ? [] : [{ words: "@" as const, having: senderTerms(contact), without: [] }]),
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

/** The functions are called once for each condition, and each of their threads is looked up by its key. `orNamed`: for senders. */
const lookUp = (column: string, { words, having, without }: Wanted, orNamed = false): Condition[] => [
  ...(having.length > 0 ? [lookedUp(column, { words, terms: having, orNamed })] : []),
  ...without.map((term): Condition => [`${column} not in (select work.threads_with('${words}', {n}))`, json([term])]),
];

function lookedUp(
  column: string,
  { words, terms, orNamed }: { words: WordClass; terms: readonly SearchTerm[]; orNamed: boolean },
): Condition {
  const withWords = `${column} = any(array(select work.threads_with('${words}', {n})))`;
  const named = "primary_contact_id = any(array(select work.contacts_named({n})))";
  return [orNamed ? `(${withWords} or ${named})` : withWords, json(terms)];
}

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
