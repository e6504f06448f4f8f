import { countFiledInbound } from "#projections/inbound/queries.ts";
import { workspaceById } from "#projections/workspaces/queries.ts";
import { periodBounds, sentThisPeriod } from "#src/commands/quotas.ts";
import { updateWorkspace } from "#src/commands/workspaces.ts";
import { workspaceDecider } from "#streams/workspace/decider.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { type Route, route } from "./route.ts";
import { UpdateWorkspace, Workspace } from "./schemas/workspaces.ts";

export const workspaceRoutes = (deps: HttpDependencies): Route[] => [
  route(
    "GET /v1/workspaces/me",
    { scope: "read:workspace", limit: "read", summary: "Read the key's workspace", answers: Workspace },
    ({ workspaceId }) => shownWorkspace(deps, workspaceId),
  ),

  route(
    "PATCH /v1/workspaces/me",
    {
      scope: "write:workspace",
      limit: "write",
      summary: "Rename the workspace, pause or resume its sending",
      description: "Only what is given changes; a name of null is no change.",
      body: UpdateWorkspace,
      answers: Workspace,
    },
    async ({ workspaceId, body, cause }) => {
      const changes = { name: body.name ?? undefined, sendingPaused: body.sending_paused };
      const { position } = await updateWorkspace(deps, { workspaceId, ...changes }, cause);
      await deps.readAfter(position, workspaceId);
      return shownWorkspace(deps, workspaceId);
    },
  ),
];

/** The Workspace of the contract. Without a payment processor its periods are counted from its creation (decisions 10). */
async function shownWorkspace(deps: HttpDependencies, workspaceId: string) {
  const { state } = await deps.load(workspaceDecider, workspaceStream(workspaceId));
  const period = periodBounds(state, deps.clock.now());
  const [row, sent, received] = await Promise.all([
    workspaceById(deps.reads, workspaceId),
    sentThisPeriod(deps, workspaceId),
    countFiledInbound(deps.reads, workspaceId, period?.start ?? null),
  ]);
  return {
    ...row,
    emails_sent_this_period: sent,
    inbound_received_this_period: received,
    trial_ends_at: null,
    current_period_start: period?.start ?? null,
    current_period_end: period?.end ?? null,
  };
}
