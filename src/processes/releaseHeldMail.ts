import { heldIdentities } from "#projections/inbound/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { currentPlan } from "#src/commands/plans.ts";
import { releaseHeld } from "#src/commands/releases.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { categoryOf, idOf, type Recorded } from "#streams/event.ts";
import { isHeld } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import { causedBy, causeOfTimer, traced } from "./cause.ts";
import type { Process, ProcessContext } from "./process.ts";

/**
 * Held mail is released when the identity or the plan allows it: the identity is active again, another plan is set, a new period began, or
 * there is room because another identity is gone. What was decided to be held while that happened is looked at once more.
 */
export function releaseHeldMail(deps: Dependencies): Process {
  async function release(
    workspaceId: string,
    identityIds: readonly string[],
    cause: Cause,
    { timers }: ProcessContext,
  ): Promise<void> {
    const left = await releaseHeld(deps, workspaceId, identityIds, cause);
    const { period } = await currentPlan(deps, workspaceId);
    if (!left || period === null || period.end <= deps.clock.now()) return;
    await timers.set(workspaceId, "new period", period.end, traced({ ...cause, workspaceId }));
  }

  async function releaseAll(workspaceId: string, position: number, cause: Cause, context: ProcessContext) {
    if (!(await deps.projected(position))) throw new Unavailable("the read models lag behind");
    await release(workspaceId, await heldIdentities(deps.reads, workspaceId), cause, context);
  }

  const onWorkspace = (event: Recorded, context: ProcessContext) =>
    releaseAll(workspaceOf(event), event.position, causedBy(event, "releaseHeldMail"), context);
  const onIdentity = (event: Recorded, context: ProcessContext) =>
    release(workspaceOf(event), [idOf(event.stream)], causedBy(event, "releaseHeldMail"), context);

  return {
    name: "releaseHeldMail",
    categories: ["filing", "identity", "workspace"],
    keyOf: workspaceOf,
    on: {
      FilingDecided: async (event, context) => {
        if (isHeld(event.data as FilingDecision)) await onIdentity(event, context);
      },
      IdentityUpdated: async (event, context) => {
        if (event.data.changes.status === "active") await onIdentity(event, context);
      },
      IdentityDeleted: onWorkspace,
      PlanSet: onWorkspace,
    },
    onTimer: async (timer, context) =>
      releaseAll(timer.key, await deps.store.head(), causeOfTimer(timer.payload, "releaseHeldMail"), context),
    givingUp: "never",
  };
}

const workspaceOf = (event: Recorded): string =>
  categoryOf(event.stream) === "workspace" ? idOf(event.stream) : (event.metadata.workspaceId as string);
