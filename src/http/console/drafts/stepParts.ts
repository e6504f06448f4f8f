import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import type { Phrase } from "#src/commands/drafts/life/phrases.ts";

/** A line of what an event says. */
export type Fact = { label: string; value: Phrase[] };

/** What an event is told as. `texts`: what somebody wrote at length. */
export type StepWords = { what: Phrase[]; facts: Fact[]; texts: { label: string; text: string }[] };

/** Events of a handing over. */
export type OfDelivery = Extract<LifeEvent, { type: `Delivery${string}` }>;

/** All other events of a draft's life. */
export type OfReview = Exclude<LifeEvent, OfDelivery>;

/** What an event is told as; what is left out is empty. */
export type Told = Pick<StepWords, "what"> & Partial<StepWords>;

export const told = (what: Phrase[]): Told => ({ what });

export const fact = (label: string, value: Phrase): Fact => ({ label, value: [value] });

export const hash = (sha256: string): Fact => fact("Content hash", { exact: sha256 });
