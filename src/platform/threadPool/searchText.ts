import { answerOf, type Question } from "#streams/rule/evaluate.ts";

/** Milliseconds for all questions about one text. */
const usualWithinMs = 1_000;

export type Search = { text: string; questions: ReadonlyMap<string, Question>; withinMs?: number };

/** Answers what rules ask of a message's text, by the questions' keys. A question without an answer ran out of time. */
export function searchText({ text, questions, withinMs = usualWithinMs }: Search): Map<string, boolean> {
  const texts = [text];
  const answers = new Map<string, boolean>();
  const deadline = performance.now() + withinMs;
  for (const [key, question] of questions) {
    if (performance.now() >= deadline) break;
    answers.set(key, answerOf("message.body_text", question, texts));
  }
  return answers;
}
