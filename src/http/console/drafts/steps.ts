import { foldEachEvent } from "#src/commands/drafts/life/fold.ts";
import type { DraftLife } from "#src/commands/drafts/life/life.ts";
import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import { type Comparison, type ComparisonRoom, roomAfter, usualRoom } from "#src/html/compare/compareVersions.ts";
import { deliveryWords } from "./deliveryWords.ts";
import { reviewWords } from "./reviewWords.ts";
import type { DeliveryLifeEvent, StepWords } from "./stepParts.ts";

/** A version's content and rationale. */
export type Version = {
  version: number;
  contentSha256: string;
  content: NonNullable<Extract<LifeEvent, { type: "DraftSubmitted" }>["data"]["content"]>;
  rationale: string | null;
};

/** One event of a draft. `life`: the draft's state after it. `version`: the version at that time. */
export type Step = StepWords & {
  /** From 1. */
  n: number;
  event: LifeEvent;
  life: DraftLife;
  version: Version;
  /**
   * Set if the event made a new version: the replaced version, and the number of the step that made it. compareSteps fills in `changes`.
   */
  replaced: { version: Version; n: number; changes: Comparison | null } | null;
};

/** Converts a draft's history into steps. Throws if it does not begin with the submission, or a content is missing. */
export function stepsOf(history: readonly LifeEvent[]): Step[] {
  const lives = foldEachEvent(history);
  const steps: Step[] = [];
  for (const [index, event] of history.entries()) {
    const life = lives[index] as DraftLife;
    const before = steps.at(-1)?.version;
    const version = versionIn(event) ?? before;
    if (!version) throw new Error("the first event of a draft brings its content");
    const maker = steps.find((step) => step.version === before);
    const replaced = maker && version !== before ? { version: maker.version, n: maker.n, changes: null } : null;
    steps.push({ n: index + 1, event, life, version, replaced, ...wordsOf(event, life) });
  }
  return steps;
}

/** Compares two versions. `room`: the lines and bytes that comparisons on this page may still use. */
export type Compare = (versions: { from: Version; to: Version; room: ComparisonRoom }) => Promise<Comparison>;

const nothingCompared: Comparison = { changes: [], truncated: true };

/** Fills in what each step changed. All comparisons together may use `usualRoom`; after that, changes are marked as truncated. */
export async function compareSteps(steps: readonly Step[], compare: Compare): Promise<void> {
  let room = usualRoom;
  for (const { version: to, replaced } of steps) {
    if (replaced === null) continue;
    const isLeft = room.lines > 0 && room.bytes > 0;
    const changes = isLeft ? await compare({ from: replaced.version, to, room }) : nothingCompared;
    replaced.changes = changes;
    room = roomAfter(room, changes);
  }
}

function versionIn(event: LifeEvent): Version | undefined {
  if (event.type !== "DraftSubmitted" && event.type !== "DraftEdited") return undefined;
  const { content, contentSha256, rationale } = event.data;
  if (content === null) throw new Error("the content of a version was not looked up");
  return { version: event.type === "DraftEdited" ? event.data.version : 1, contentSha256, content, rationale };
}

const wordsOf = (event: LifeEvent, life: DraftLife): StepWords =>
  isOfDelivery(event) ? deliveryWords(event) : reviewWords(event, life);

const isOfDelivery = (event: LifeEvent): event is DeliveryLifeEvent => event.type.startsWith("Delivery");
