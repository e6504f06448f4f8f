import { runSearch, type TextSearch } from "#streams/rule/evaluate.ts";

/** Milliseconds for all searches in one text. */
const usualWithinMs = 1_000;

export type Search = { text: string; questions: ReadonlyMap<string, TextSearch>; withinMs?: number };

/** Evaluates the searches of rules in a message's text, by their keys. A search without a result ran out of time. */
export function searchText({ text, questions, withinMs = usualWithinMs }: Search): Map<string, boolean> {
  const texts = [text];
  const answers = new Map<string, boolean>();
  const deadline = performance.now() + withinMs;
  for (const [key, question] of questions) {
    if (performance.now() >= deadline) break;
    answers.set(key, runSearch("message.body_text", question, texts));
  }
  return answers;
}
