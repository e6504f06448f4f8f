import { json } from "../projection.ts";
import { parseQuery, type SearchQuery, type SearchTerm } from "./parseQuery.ts";
import { wordsOf } from "./words.ts";

/** SQL condition on a column of thread ids, with its one value in place of {n}. */
type Condition = readonly [sql: string, value: string | boolean];

/** Returns conditions for threads in which one message has all words wanted, and no message has an excluded one. */
export function matchingWordsSql(column: string, text: string): Condition[] {
  const { having, without } = parseQuery(text);
  if (having.length + without.length === 0) return nothing;
  return [
    ...(having.length > 0 ? [among(column, "", having)] : []),
    ...without.map((term): Condition => [`${column} not in (select work.threads_with('', {n}))`, json([term])]),
  ];
}

/** Returns conditions for threads with a message from a sender whose name or address contains each of these parts. */
export function matchingSenderSql(column: string, text: string): Condition[] {
  const terms = senderTerms(text);
  return terms.length === 0 ? nothing : [among(column, "@", terms)];
}

/** Returns what a sender's name or address has to contain; empty if the text has no word. */
export function senderTerms(text: string): SearchTerm[] {
  const { having }: SearchQuery = parseQuery(text.replaceAll('"', " ").replaceAll(/(^|\s)-/g, " "));
  return wordsOf(text).length === 0 ? [] : having;
}

/** SQL condition with an array: the function is called once, and each of its threads is looked up by its key. */
const among = (column: string, words: "" | "@", terms: readonly SearchTerm[]): Condition => [
  `${column} = any(array(select work.threads_with('${words}', {n})))`,
  json(terms),
];

/** Condition for a search without words, which finds nothing. */
const nothing: Condition[] = [["{n}::boolean", false]];
