import { heldIdentities } from "#projections/inbound/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { releaseHeld } from "#src/commands/inbound/releaseHeldMail.ts";
import { currentPlan } from "#src/commands/plans/plans.ts";
import { hasInboundRoom } from "#src/commands/plans/quotas.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { categoryOf, idOf, type Recorded } from "#streams/event.ts";
import { isHeld } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import { causedBy, causeOfTimer, traced } from "./cause.ts";
import type { Acting, Process, ProcessContext } from "./process.ts";

/**
 * Held mail is released when the identity or the plan allows it: the identity is active again, another plan is set, a new period began, or
 * there is room because another identity is gone. What was decided to be held while that happened is looked at once more.
 */
export function releaseHeldMail(deps: Dependencies): Process {
  /** Mail held by the plan waits in one line for the whole workspace: the oldest mail comes first, whichever identity it is for. */
  async function release(
    workspaceId: string,
    identityIds: readonly string[],
    { cause, timers }: Acting,
  ): Promise<void> {
    const left = await releaseHeld(deps, { workspaceId, identityIds }, cause);
    if (left) await lookAgain(workspaceId, { cause, timers });
  }

  /** When the period turns. One that is over already ends by the payment processor's word, which is an event. */
  async function lookAgain(workspaceId: string, { cause, timers }: Acting): Promise<void> {
    const { period } = await currentPlan(deps, workspaceId);
    if (period === null || period.end <= deps.clock.now()) return;
    await timers.set({
      key: workspaceId,
      name: "new period",
      dueAt: period.end,
      payload: traced({ ...cause, workspaceId }),
    });
  }

  async function releaseAll(
    workspaceId: string,
    { position, beside = [] }: { position: number; beside?: readonly string[] },
    acting: Acting,
  ): Promise<void> {
    if (!(await deps.projected(position))) throw new Unavailable("the read models lag behind");
    const held = await heldIdentities(deps.reads, workspaceId);
    await release(workspaceId, [...new Set([...held, ...beside])], acting);
  }

  /** The identity or the plan may have changed while that was decided. */
  async function onHeld(event: Recorded, context: ProcessContext): Promise<void> {
    const { disposition } = event.data as FilingDecision;
    const [workspaceId, identityId] = [workspaceOf(event), idOf(event.stream)];
    const acting = { ...context, cause: causedBy(event, "releaseHeldMail") };
    if (disposition === "held_identity_disabled") return release(workspaceId, [identityId], acting);
    if (!(await hasInboundRoom(deps, workspaceId))) return lookAgain(workspaceId, acting);
    await releaseAll(workspaceId, { position: event.position, beside: [identityId] }, acting);
  }

  const onWorkspace = (event: Recorded, context: ProcessContext) =>
    releaseAll(
      workspaceOf(event),
      { position: event.position },
      { ...context, cause: causedBy(event, "releaseHeldMail") },
    );

  return {
    name: "releaseHeldMail",
    categories: ["filing", "identity", "workspace"],
    keyOf: workspaceOf,
    on: {
      FilingDecided: async (event, context) => {
        if (isHeld(event.data as FilingDecision)) await onHeld(event, context);
      },
      IdentityUpdated: async (event, context) => {
        if (event.data.changes.status !== "active") return;
        const acting = { ...context, cause: causedBy(event, "releaseHeldMail") };
        await release(workspaceOf(event), [idOf(event.stream)], acting);
      },
      IdentityDeleted: onWorkspace,
      PlanSet: onWorkspace,
    },
    async onTimer(timer, context) {
      const cause = causeOfTimer(timer.payload, "releaseHeldMail");
      await releaseAll(timer.key, { position: await deps.store.head() }, { ...context, cause });
    },
    givingUp: "never",
  };
}

const workspaceOf = (event: Recorded): string =>
  categoryOf(event.stream) === "workspace" ? idOf(event.stream) : (event.metadata.workspaceId as string);
