import type { Phrase } from "#src/commands/drafts/life/phrases.ts";
import type { Fact, StepWords } from "./steps.ts";

/** What an event is told as; what is left out is empty. */
export type Told = Pick<StepWords, "what"> & Partial<StepWords>;

export const told = (what: Phrase[]): Told => ({ what });

export const fact = (label: string, value: Phrase): Fact => ({ label, value: [value] });

export const hash = (sha256: string): Fact => fact("Content hash", { exact: sha256 });
