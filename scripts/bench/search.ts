import { createWriter } from "../support/zipfMail.ts";
import type { Bench } from "./bench.ts";
import { askAll, startFilledWorkspace } from "./workspace.ts";

/** Searches by `GET /v1/threads?q=` for words of the workspace's own vocabulary. */
export const bench: Bench = {
  size: 2_000,
  unit: "threads in the workspace",
  async run(server, size) {
    const workspace = await startFilledWorkspace(server, size);
    // The seed of the workspace's own writer: rank 0 is its most frequent word.
    const writer = createWriter(size);
    const word = (from: number, to: number): string => writer.word(from + Math.floor(writer.random() * (to - from)));
    const found = (what: string, text: () => string) => ({
      what: `GET /v1/threads?q=, ${what}`,
      path: () => `/v1/threads?q=${encodeURIComponent(text())}`,
    });
    const ask = (path: string) => workspace.client.ask(`GET ${path}`);
    await askAll(server, { workspace, ask }, [
      found("a frequent word", () => word(20, 300)),
      found("a rare word", () => word(1_000, 20_000)),
      found("two words", () => `${word(20, 1_000)} ${word(20, 1_000)}`),
      found("a phrase", () => `"${word(0, 50)} ${word(0, 300)}"`),
      found("part of a word", () => word(200, 20_000).slice(0, 5)),
      found("a number", () => `INV-${Math.floor(writer.random() * 9_000_000)}`),
    ]);
  },
};
