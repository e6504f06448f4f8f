import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import type { Phrase } from "#src/commands/drafts/life/phrases.ts";

/** A labelled value of an event. */
export type Fact = { label: string; value: Phrase[] };

/** The description of an event. `texts`: longer texts that people wrote. */
export type StepWords = { what: Phrase[]; facts: Fact[]; texts: { label: string; text: string }[] };

/** Events of a delivery. */
export type DeliveryLifeEvent = Extract<LifeEvent, { type: `Delivery${string}` }>;

/** All other events of a draft. */
export type ReviewLifeEvent = Exclude<LifeEvent, DeliveryLifeEvent>;

/** The description of an event; omitted parts are empty. */
export type PartialStepWords = Pick<StepWords, "what"> & Partial<StepWords>;

export const wordsOnly = (what: Phrase[]): PartialStepWords => ({ what });

export const fact = (label: string, value: Phrase): Fact => ({ label, value: [value] });

export const hash = (sha256: string): Fact => fact("Content hash", { exact: sha256 });
