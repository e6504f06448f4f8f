import { heldIdentities } from "#projections/inbound/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { releaseHeld } from "#src/commands/inbound/releaseHeldMail.ts";
import { currentPlan } from "#src/commands/plans/plans.ts";
import { hasInboundRoom } from "#src/commands/plans/quotas.ts";
import { categoryOf, idOf, type Recorded } from "#streams/event.ts";
import { isHeld } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Acting, Process, ProcessContext, WaitForModels } from "./process.ts";

/**
 * Releases held mail when the identity or the plan allows it: the identity is active again, the plan changed, a new period began, or
 * another identity was deleted. Also checks mail that a filing decided to hold while that happened.
 */
export function releaseHeldMail(deps: Dependencies): Process {
  /** Releases a workspace's mail that is held for quota, the oldest first, whichever identity it is for. */
  async function release(
    { workspaceId, position }: WorkspacePosition,
    identityIds: readonly string[],
    acting: Acting,
  ): Promise<undefined> {
    const left = await releaseHeld(deps, { workspaceId, identityIds }, acting.cause);
    if (left) await lookAgain({ workspaceId, position }, acting);
  }

  /**
   * Sets a timer for the next billing period. If the present period is already over, an event of the payment processor will begin the next
   * one.
   */
  async function lookAgain({ workspaceId, position }: WorkspacePosition, { timers }: Acting): Promise<undefined> {
    const { period } = await currentPlan(deps, workspaceId);
    if (period === null || period.end <= deps.clock.now()) return;
    await timers.set({ key: workspaceId, name: "new period", dueAt: period.end, payload: { position } });
  }

  async function releaseAll(
    { workspaceId, position, beside = [] }: WorkspacePosition & { beside?: readonly string[] },
    context: ProcessContext,
  ): Promise<WaitForModels | undefined> {
    if (!(await context.reached(position, ["inbound"]))) return { waitFor: position, of: ["inbound"] };
    const held = await heldIdentities(deps.reads, workspaceId);
    return release({ workspaceId, position }, [...new Set([...held, ...beside])], context);
  }

  /** Checks mail again after it was held, because the identity or the plan may have changed while its filing was decided. */
  async function onHeld(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    const { disposition } = event.data as FilingDecision;
    const [at, identityId] = [placeOf(event), idOf(event.stream)];
    if (disposition === "held_identity_disabled") return release(at, [identityId], context);
    if (!(await hasInboundRoom(deps, at.workspaceId))) return lookAgain(at, context);
    return releaseAll({ ...at, beside: [identityId] }, context);
  }

  const onWorkspace = (event: Recorded, context: ProcessContext) => releaseAll(placeOf(event), context);

  return {
    name: "releaseHeldMail",
    categories: ["filing", "identity", "workspace"],
    keyOf: workspaceOf,
    concerns({ type, data }) {
      if (type === "IdentityUpdated") return data.changes.status === "active";
      return type !== "FilingDecided" || isHeld(data as FilingDecision);
    },
    on: {
      FilingDecided: onHeld,
      IdentityUpdated: (event, context) => release(placeOf(event), [idOf(event.stream)], context),
      IdentityDeleted: onWorkspace,
      PlanSet: onWorkspace,
    },
    onTimer: ({ key: workspaceId, payload }, context) =>
      releaseAll({ workspaceId, position: payload.position as number }, context),
    givingUp: "never",
  };
}

/** A workspace, and the log position up to which the read model must know its held mail. */
type WorkspacePosition = { workspaceId: string; position: number };

const placeOf = (event: Recorded): WorkspacePosition => ({ workspaceId: workspaceOf(event), position: event.position });

const workspaceOf = (event: Recorded): string =>
  categoryOf(event.stream) === "workspace" ? idOf(event.stream) : (event.metadata.workspaceId as string);
