import { type Guard, noStream, StreamMoved } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { holdersOldestFirst, holdsSlot, slotsTaken } from "#streams/slots/decider.ts";
import { type SlotKind, slotsStream } from "#streams/slots/events.ts";
import type { PlanLimits } from "#streams/workspace/planLimits.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { capOf } from "./plans.ts";

type PlanSlot = { workspaceId: string; kind: SlotKind; holderId: string };

/** State of a slot's holder. `unborn`: nothing with the holder's id was created yet; its creation may be running or was interrupted. */
export type HolderState = "alive" | "gone" | "unborn";

type StateOf = (holderId: string) => Promise<HolderState>;

/** Milliseconds after which the creation of a slot's holder counts as interrupted. */
const interruptedAfterMs = 10 * 60_000;

/** `isNew`: false if the holder already had a slot. `guard`: guard on the slots' stream at a revision that includes the slot. */
export type TakenSlot = { isNew: boolean; guard: Guard };

type ToTake = PlanSlot & {
  cap: number | null;
  stateOf: StateOf;
  /**
   * Returns a holder's stream. Given for kinds that must never exist without a slot: if a holder is created while its slot is being freed,
   * it keeps the slot.
   */
  streamOf?: (holderId: string) => string;
};

/**
 * Takes one of `cap` slots (null: no limit) before its holder is created, so that no more than `cap` holders ever exist. If no slot is
 * free, frees those of deleted holders and of interrupted creations. Throws Rejected plan_limit_reached if there is still none.
 */
export async function takeSlot(
  deps: Dependencies,
  { workspaceId, kind, holderId, cap, stateOf, streamOf }: ToTake,
  cause: Cause,
): Promise<TakenSlot> {
  const counted = { workspaceId, kind };
  const now = deps.clock.now();
  const takeInPlaceOf = async (vacated: readonly string[], unlessMoved: readonly Guard[] = []) => {
    const command = { type: "TakeSlot", holderId, takenAt: now.toISOString(), cap, vacated } as const;
    const guarded = { ...cause, unlessMoved: [...(cause.unlessMoved ?? []), ...unlessMoved] };
    const take = (as: Cause) => deps.slots.handle(counted, command, as);
    const first = await take(guarded);
    // A repetition returns the first run's result. If that run's slot was freed since, because it seemed abandoned, take another.
    const { changed, revision } = holdsSlot(first.state, holderId)
      ? first
      : await take({ ...guarded, repeated: false });
    return { isNew: changed, guard: { stream: slotsStream(workspaceId, kind), revision } };
  };
  const takeOneLeftBehind = async (full: Rejected): Promise<TakenSlot> => {
    const { state: slots } = await deps.slots.load(counted);
    const vacated: string[] = [];
    const unborn: Guard[] = [];
    for (const [holder, takenAt] of Object.entries(slots)) {
      const state = await stateOf(holder);
      const interrupted = state === "unborn" && now.getTime() - Date.parse(takenAt) > interruptedAfterMs;
      if (state === "gone" || interrupted) vacated.push(holder);
      if (interrupted && streamOf) unborn.push({ stream: streamOf(holder), revision: noStream });
    }
    if (vacated.length === 0) throw full;
    try {
      return await takeInPlaceOf(vacated, unborn);
    } catch (error) {
      // One of the holders that seemed abandoned was created after this check.
      if (!(error instanceof StreamMoved) || !unborn.some(({ stream }) => stream === error.stream)) throw error;
      return takeOneLeftBehind(full);
    }
  };
  try {
    return await takeInPlaceOf([]);
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== "plan_limit_reached") throw error;
    return takeOneLeftBehind(error);
  }
}

const nouns = { identities: "identity", rules: "rule", domains: "domain" };

/** Returns the error for a plan that allows no more things of a kind. */
export function planFullRefusal(kind: keyof typeof nouns, cap: number | null): Rejected {
  if (!cap) return new Rejected("plan_limit_reached", `your plan allows no ${kind}: upgrade the plan`);
  const full =
    cap === 1 ? `1 ${nouns[kind]}, which already exists: delete it` : `${cap} ${kind}, which already exist: delete one`;
  return new Rejected("plan_limit_reached", `your plan allows ${full}, or upgrade the plan`);
}

/**
 * Returns true if a thing works under the present plan. If the plan's limit became smaller, the newest things above it stop working, and
 * work again when there is room. Things without a slot always work.
 */
export async function isWithinPlan(
  deps: Dependencies,
  { workspaceId, kind, holderId }: PlanSlot & { kind: SlotKind & keyof PlanLimits },
  stateOf: StateOf,
): Promise<boolean> {
  const cap = await capOf(deps, workspaceId, kind);
  if (cap === null) return true;
  const { state: slots } = await deps.slots.load({ workspaceId, kind });
  if (slotsTaken(slots) <= cap || !holdsSlot(slots, holderId)) return true;
  const holders = holdersOldestFirst(slots);
  const older = holders.slice(0, holders.indexOf(holderId));
  if (older.length < cap) return true;
  const states = await Promise.all(older.map(stateOf));
  return states.filter((state) => state === "alive").length < cap;
}

/** Frees the slot of a holder that was deleted or will never be created. */
export async function vacateSlot(
  deps: Dependencies,
  { workspaceId, kind, holderId }: PlanSlot,
  cause: Cause,
): Promise<void> {
  await deps.slots.handle({ workspaceId, kind }, { type: "VacateSlot", holderId }, cause);
}
