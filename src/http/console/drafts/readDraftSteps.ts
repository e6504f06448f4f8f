import type { DraftLife } from "#src/commands/drafts/life/life.ts";
import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import type { CostlyWork } from "#src/platform/threadPool/costlyWork.ts";
import { Rejected } from "#streams/decider.ts";
import type { WireDraft } from "../../present/drafts.ts";
import type { Answers } from "../../routes.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { compareSteps, type Step, stepsOf } from "./steps.ts";
import { fromWire } from "./wire.ts";

/** Maximum number of events on a page; hardly any draft has a tenth of them. */
export const mostSteps = 1_000;

/** A draft and its steps. `isWhole`: true if these are all steps. */
export type DraftSteps = { draft: WireDraft; steps: Step[]; isWhole: boolean };

/** Reads a draft and its steps; only for people who may read histories. `addChanges` adds the changes between versions. */
export async function readDraftSteps(context: PageContext): Promise<DraftSteps> {
  const draft = await readDraft(context);
  const { events, isWhole } = await readHistory(context, draft.id);
  const steps = stepsOf(events);
  const last = steps.at(-1) as Step;
  if (last.life.stale) last.life = { ...last.life, stale: await withNewer(context, draft, last.life.stale) };
  return { draft, steps, isWhole };
}

/** Adds to each step the changes that it made to the draft. */
export const addChanges = (costlyWork: CostlyWork, context: PageContext, steps: readonly Step[]): Promise<void> =>
  compareSteps(steps, (versions) => costlyWork("compareVersions", versions, context.principal.workspaceId));

export const readDraft = (context: PageContext): Promise<WireDraft> =>
  context.ask("GET /v1/drafts/:id", { params: { id: context.params.id ?? "" } });

async function readHistory(context: PageContext, id: string): Promise<{ events: LifeEvent[]; isWhole: boolean }> {
  const events: LifeEvent[] = [];
  let cursor: string | null = null;
  do {
    const page: Answers["GET /v1/drafts/:id/history"] = await context.ask("GET /v1/drafts/:id/history", {
      params: { id },
      query: { limit: 100, cursor },
    });
    events.push(...page.data.map(fromWire));
    cursor = page.next_cursor;
  } while (cursor !== null && events.length < mostSteps);
  return { events, isWhole: cursor === null };
}

/** Adds the sender of the newer message that made the draft stale, if the thread still lists it among its newest. */
async function withNewer(context: PageContext, { thread_id: id }: WireDraft, stale: NonNullable<DraftLife["stale"]>) {
  const { messages } = await context.ask("GET /v1/threads/:id", { params: { id } });
  const found = messages.find((message) => message.id === stale.newer.id);
  if (!found) return stale;
  return { ...stale, newer: { id: stale.newer.id, from: found.from_email, receivedAt: found.received_at } };
}

/** The step in the page's URL. Throws Rejected not_found. */
export function stepNamed({ steps }: DraftSteps, n: string | undefined): Step {
  const step = /^[1-9]\d{0,5}$/.test(n ?? "") ? steps[Number(n) - 1] : undefined;
  if (!step) throw new Rejected("not_found", "this draft has no such step");
  return step;
}
