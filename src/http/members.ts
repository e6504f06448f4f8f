import { listMembers, type MemberRow, memberRow } from "#projections/members/queries.ts";
import { changeRole, invite, memberState, removeMember, resendInvitation } from "#src/commands/members/members.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { requireDrained } from "./framework/keys/requireDrained.ts";
import { listRoute } from "./framework/lists.ts";
import type { Principal } from "./framework/principal.ts";
import { route } from "./framework/route.ts";
import { Deleted } from "./schemas/common.ts";
import { ChangeMember, InviteMember, Member, MemberList, MemberQuery } from "./schemas/members.ts";

const byKey =
  "An API key cannot add, change or remove an owner. While the workspace or one of its identities has require_human_approval, a key cannot change members at all (422 human_approval_required).";
const refusals = ["insufficient_scope", "human_approval_required"] as const;

export function memberRoutes(deps: HttpDependencies) {
  const load = ({ workspaceId, params }: { workspaceId: string; params: { id: string } }) =>
    memberState(deps, { workspaceId, memberId: params.id });

  async function shownAfter(position: number, workspaceId: string, id: string) {
    await deps.readAfter(position, id);
    const row = await memberRow(deps.reads, workspaceId, id);
    return row && shown(row);
  }

  /** Waits until no request under the sessions of the changed member is answered any more; the requesting session is excepted. */
  const requireNoRights = (
    { principal, callId }: { principal: Principal; callId: string },
    { id, ended }: { id: string; ended: readonly string[] },
  ) =>
    requireDrained(
      deps.revocation,
      ended.filter((session) => session !== principal.id),
      { id, exclude: callId },
    );

  return [
    listRoute(
      "GET /v1/members",
      {
        scope: "read:members",
        limit: "read",
        summary: "List members and invitations, oldest first",
        query: MemberQuery,
        answers: MemberList,
        cursors: deps.cursors,
      },
      async ({ workspaceId, query }) => {
        const page = await listMembers(deps.reads, workspaceId, query);
        return { ...page, data: page.data.map(shown) };
      },
    ),
    route(
      "POST /v1/members",
      {
        scope: "write:members",
        limit: "write",
        summary: "Invite a person by their address",
        description: `They get a mail with a link, which works for 7 days and only for that address. The response is the same whether the address has an account or not. An address that is already invited to the same role gets a new link; a member with the same role is not changed. ${byKey}`,
        body: InviteMember,
        answers: Member,
        status: 201,
        errors: refusals,
      },
      async ({ workspaceId, body, cause }) => {
        const { memberId, position } = await invite(deps, { workspaceId, ...body }, cause);
        return shownAfter(position, workspaceId, memberId);
      },
    ),
    route(
      "PATCH /v1/members/:id",
      {
        scope: "write:members",
        limit: "write",
        summary: "Change the role of a member or an invitation",
        description: `The new rights apply from this response on. A workspace keeps at least one owner. ${byKey}`,
        body: ChangeMember,
        answers: Member,
        errors: refusals,
        load,
      },
      async ({ workspaceId, params, body, cause, principal, callId }) => {
        const { id } = params;
        const { position, endedSessions } = await changeRole(deps, { workspaceId, memberId: id, ...body }, cause);
        await requireNoRights({ principal, callId }, { id, ended: endedSessions });
        return shownAfter(position, workspaceId, id);
      },
    ),
    route(
      "DELETE /v1/members/:id",
      {
        scope: "write:members",
        limit: "write",
        summary: "Remove a member, or withdraw an invitation",
        description: `After this response the member has no access to the workspace; requests in flight end with 401. A 503 means that the member is removed but such a request may still be running. A workspace keeps at least one owner. ${byKey}`,
        answers: Deleted,
        errors: refusals,
        load,
      },
      async ({ workspaceId, params, cause, principal, callId }) => {
        const { id } = params;
        const { position, endedSessions } = await removeMember(deps, { workspaceId, memberId: id }, cause);
        await requireNoRights({ principal, callId }, { id, ended: endedSessions });
        await deps.readAfter(position, id);
        return { id, deleted: true };
      },
    ),
    route(
      "POST /v1/members/:id/resend",
      {
        scope: "write:members",
        limit: "write",
        summary: "Send an invitation again",
        description: `The mail has a new link, which works for 7 days; the previous link stops working. ${byKey}`,
        answers: Member,
        errors: [...refusals, "invalid_status"],
        load,
      },
      async ({ workspaceId, params, cause }) => {
        const { position } = await resendInvitation(deps, { workspaceId, memberId: params.id }, cause);
        return shownAfter(position, workspaceId, params.id);
      },
    ),
  ];
}

const shown = ({ invited_by: by, ...row }: MemberRow) => ({
  ...row,
  invited_by: by && { kind: by.kind, id: by.id, name: by.name ?? null },
});
