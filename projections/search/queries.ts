import { json } from "../projection.ts";
import { parseQuery, type Question, type Term } from "./parseQuery.ts";
import { wordsOf } from "./words.ts";

/** SQL conditions on a column of thread ids, each with its one value in the place of {n}. */
type Condition = readonly [sql: string, value: string | boolean];

/** Threads in which one message has all the words asked for, and no message has one that is not wanted. */
export function threadsWith(column: string, text: string): Condition[] {
  const { having, without } = parseQuery(text);
  if (having.length + without.length === 0) return nothing;
  return [
    ...(having.length > 0 ? [among(column, "", having)] : []),
    ...without.map((term): Condition => [`${column} not in (select work.threads_with('', {n}))`, json([term])]),
  ];
}

/** Threads with a message from a sender whose name or address holds each of these parts. */
export function threadsFrom(column: string, text: string): Condition[] {
  const { having }: Question = parseQuery(text.replaceAll('"', " ").replaceAll(/(^|\s)-/g, " "));
  return wordsOf(text).length === 0 ? nothing : [among(column, "@", having)];
}

/** As an array: the function is asked once, and each thread it names is looked up by its key. */
const among = (column: string, words: "" | "@", terms: readonly Term[]): Condition => [
  `${column} = any(array(select work.threads_with('${words}', {n})))`,
  json(terms),
];

/** A question without a word, signs alone, finds nothing. */
const nothing: Condition[] = [["{n}::boolean", false]];
