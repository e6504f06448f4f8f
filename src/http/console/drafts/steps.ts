import type { Life } from "#src/commands/drafts/life/life.ts";
import { livesOf } from "#src/commands/drafts/life/life.ts";
import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import type { Phrase } from "#src/commands/drafts/life/phrases.ts";
import { presentChanges } from "../../present/diffs.ts";
import { deliveryWords } from "./deliveryWords.ts";
import { reviewWords } from "./reviewWords.ts";

/** A line of what an event says. */
export type Fact = { label: string; value: Phrase[] };

/** What an event is told as. `texts`: what somebody wrote at length. */
export type StepWords = { what: Phrase[]; facts: Fact[]; texts: { label: string; text: string }[] };

/** The content of a version, and why it was written. */
export type Version = {
  version: number;
  contentSha256: string;
  content: NonNullable<Extract<LifeEvent, { type: "DraftSubmitted" }>["data"]["content"]>;
  rationale: string | null;
};

export type Changes = ReturnType<typeof presentChanges>;

/** One event of a draft's life. `life`: as it left it. `version`: what the draft said then. `changes`: to the version before, where it made one. */
export type Step = StepWords & {
  /** From 1. */
  n: number;
  event: LifeEvent;
  life: Life;
  version: Version;
  changes: Changes | null;
};

/** A draft's history as steps that one can walk. Throws if it does not begin with the submission, or a content is missing. */
export function stepsOf(history: readonly LifeEvent[]): Step[] {
  const lives = livesOf(history);
  const steps: Step[] = [];
  for (const [index, event] of history.entries()) {
    const life = lives[index] as Life;
    const before = steps.at(-1)?.version;
    const version = versionIn(event) ?? before;
    if (!version) throw new Error("the first event of a draft brings its content");
    const changes = before && version !== before ? presentChanges(before, version) : null;
    steps.push({ n: index + 1, event, life, version, changes, ...wordsOf(event, life) });
  }
  return steps;
}

function versionIn(event: LifeEvent): Version | undefined {
  if (event.type !== "DraftSubmitted" && event.type !== "DraftEdited") return undefined;
  const { content, contentSha256, rationale } = event.data;
  if (content === null) throw new Error("the content of a version was not looked up");
  return { version: event.type === "DraftEdited" ? event.data.version : 1, contentSha256, content, rationale };
}

const wordsOf = (event: LifeEvent, life: Life): StepWords =>
  isOfDelivery(event) ? deliveryWords(event) : reviewWords(event, life);

type OfDelivery = Extract<LifeEvent, { type: `Delivery${string}` }>;
export type OfReview = Exclude<LifeEvent, OfDelivery>;

const isOfDelivery = (event: LifeEvent): event is OfDelivery => event.type.startsWith("Delivery");
