import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import type { ProcessContext, WaitForModels } from "./process.ts";

/** Settings of an identity that determine when, and to whom, a draft escalates. */
export const escalationSettings: readonly (keyof IdentitySettings)[] = [
  "secondaryApprovalChannel",
  "escalationDelayMinutes",
  "approvalsRequired",
];

/** Name of the timers. It differs from those of the processes, so that a concurrent run with the old settings does not cancel this one. */
const name = "settings changed";

/**
 * Returns the handler of a change of an identity that checks each of its pending drafts at once. It sets one timer per draft under the
 * draft's key, because reading up to ten thousand drafts in one handler would take too long.
 */
export const recheckPending =
  (deps: Pick<Dependencies, "reads">) =>
  async (event: Recorded, { timers, reached }: ProcessContext): Promise<WaitForModels | undefined> => {
    if (!(await reached(event.position, ["drafts"]))) return { waitFor: event.position, of: ["drafts"] };
    const workspaceId = event.metadata.workspaceId as string;
    const pending = { identityId: idOf(event.stream), statuses: ["pending"] };
    for (const key of await draftIdsOfIdentity(deps.reads, workspaceId, pending)) {
      await timers.set({ key, name, inMs: 0 });
    }
    return undefined;
  };
