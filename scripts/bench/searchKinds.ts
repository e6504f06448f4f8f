import { createWriter } from "../support/zipfMail.ts";
import type { BenchQuestion } from "./workspace.ts";

/** Kinds of searches in a workspace of `threads` made-up threads, by words of its own vocabulary. */
export function searchKinds(threads: number): BenchQuestion[] {
  // The seed of the workspace's own writer: rank 0 is its most frequent word.
  const writer = createWriter(threads);
  const between = (from: number, to: number): number => from + Math.floor(writer.random() * (to - from));
  const word = (from: number, to: number): string => writer.word(between(from, to));
  const person = () => writer.person(between(0, Math.max(20, threads / 5)));
  const found = (what: string, parameter: "q" | "contact", text: () => string): BenchQuestion => ({
    what: `GET /v1/threads?${parameter}=, ${what}`,
    path: () => `/v1/threads?${parameter}=${encodeURIComponent(text())}`,
  });
  return [
    found("a most frequent word", "q", () => `"${word(0, 20)}"`),
    found("a frequent word", "q", () => word(20, 300)),
    found("a rare word", "q", () => word(1_000, 20_000)),
    found("two words", "q", () => `${word(20, 1_000)} ${word(20, 1_000)}`),
    found("two whole words", "q", () => `"${word(20, 300)}" "${word(20, 300)}"`),
    found("a word without another", "q", () => `${word(20, 300)} -${word(0, 300)}`),
    found("a phrase", "q", () => `"${word(0, 50)} ${word(0, 300)}"`),
    found("part of a word", "q", () => word(200, 20_000).slice(0, 5)),
    found("a number", "q", () => `INV-${between(0, 9_000_000)}`),
    found("a name", "contact", () => person().name),
    found("an address", "contact", () => person().address),
  ];
}
