import {
  type IdentityFilter,
  type IdentityRow,
  identityById,
  listIdentities,
} from "#projections/identities/queries.ts";
import { type Page, pageOfRows } from "#projections/page.ts";
import { maskedChannel } from "#src/commands/approvals/approvalChannels.ts";
import { withoutEdit } from "#src/commands/approvals/editByChannel.ts";
import { unreachableQuorum } from "#src/commands/approvals/reachableQuorum.ts";
import { identitiesAt, identityAt } from "#src/commands/asOf/settingsAt.ts";
import { createIdentity, deleteIdentity, updateIdentity } from "#src/commands/identities/identities.ts";

import type { IdentitySettings } from "#streams/identity/events.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { requireThen, timeAsked } from "./earlierStates.ts";
import { listRoute } from "./framework/lists.ts";
import { route } from "./framework/route.ts";
import { settingsReader } from "./framework/settingsReader.ts";
import { Deleted } from "./schemas/common.ts";
import {
  CreateIdentity,
  Identity,
  IdentityList,
  IdentityQuery,
  IdentityStateQuery,
  UpdateIdentity,
} from "./schemas/identities.ts";

export function identityRoutes(deps: HttpDependencies) {
  const find = ({ workspaceId, params }: { workspaceId: string; params: { identity_id: string } }) =>
    identityById(deps.reads, workspaceId, params.identity_id);

  async function shownAfter(position: number, workspaceId: string, id: string) {
    await deps.readAfter(position, id);
    const row = await identityById(deps.reads, workspaceId, id);
    return row && shown(deps, row);
  }

  return [
    route(
      "POST /v1/identities",
      {
        scope: "write:identities",
        limit: "write",
        summary: "Create an identity: an address that receives and sends",
        description:
          "While the workspace has require_human_approval, setting an approval channel, covered_recipients, aliases, reply_to_email or edit_by_channel needs the scope write:approvals. On the sandbox domain, names such as postmaster and admin are reserved.",
        body: CreateIdentity,
        answers: Identity,
        status: 201,
        errors: ["plan_limit_reached", "not_found"],
        conflict: "the address is in use",
      },
      async ({ workspaceId, body, principal, cause }) => {
        const { domain_id: domainId, local_part: localPart } = body;
        const settings = settingsOf(body);
        const mayLoosen = principal.scopes.includes("write:approvals");
        const identity = { ...settings, workspaceId, domainId, localPart, mayLoosen };
        const { identityId, position } = await createIdentity(deps, identity, cause);
        return shownAfter(position, workspaceId, identityId);
      },
    ),

    listRoute(
      "GET /v1/identities",
      {
        scope: "read:identities",
        limit: "read",
        summary: "List identities, newest first",
        description: "With `at`: those that existed then, as they were; filters apply to that state.",
        query: IdentityQuery,
        answers: IdentityList,
        errors: ["insufficient_scope"],
        cursors: deps.cursors,
      },
      async ({ workspaceId, query: { at: asked, ...query }, principal }) => {
        const at = timeAsked(deps, asked, principal);
        const page = at
          ? await listIdentitiesAt(deps, { workspaceId, at, query })
          : await listIdentities(deps.reads, workspaceId, query);
        return { ...page, data: await Promise.all(page.data.map((row) => (at ? shownThen : shown)(deps, row))) };
      },
    ),

    route(
      "GET /v1/identities/:identity_id",
      {
        scope: "read:identities",
        limit: "read",
        summary: "Read an identity",
        description: "With `at`: as it was then, also if it has been deleted since.",
        query: IdentityStateQuery,
        answers: Identity,
        errors: ["insufficient_scope"],
      },
      async ({ workspaceId, params: { identity_id: id }, query, principal }) => {
        const at = timeAsked(deps, query.at, principal);
        if (at) return shownThen(deps, requireThen(await identityAt(deps, { workspaceId, id, at }), at));
        const row = await identityById(deps.reads, workspaceId, id);
        return row && shown(deps, row);
      },
    ),

    route(
      "PATCH /v1/identities/:identity_id",
      {
        scope: "write:identities",
        limit: "write",
        summary: "Change an identity",
        description:
          "Only the given fields change. While human approval is required, by the identity or its workspace, changing an approval channel, approvals_required, covered_recipients, aliases, reply_to_email, display_name, send_on_channel_approval or edit_by_channel, or turning off require_human_approval or confirm_code, needs the scope write:approvals.",
        body: UpdateIdentity,
        answers: Identity,
        load: find,
      },
      async ({ workspaceId, params, body, principal, cause }) => {
        const identityId = params.identity_id;
        const mayLoosen = principal.scopes.includes("write:approvals");
        const update = { workspaceId, identityId, changes: settingsOf(body), mayLoosen };
        const { position } = await updateIdentity(deps, update, cause);
        return shownAfter(position, workspaceId, identityId);
      },
    ),

    route(
      "DELETE /v1/identities/:identity_id",
      {
        scope: "write:identities",
        limit: "write",
        summary: "Delete an identity",
        description:
          "Its threads, messages and drafts stay. Its address can no longer send or receive, and becomes available again when none of its mail is still being sent.",
        answers: Deleted,
        load: find,
      },
      async ({ workspaceId, params, principal, cause }) => {
        const identityId = params.identity_id;
        const mayLoosen = principal.scopes.includes("write:approvals");
        const { position } = await deleteIdentity(deps, { workspaceId, identityId, mayLoosen }, cause);
        await deps.readAfter(position, identityId);
        return { id: identityId, deleted: true };
      },
    ),
  ];
}

const settingsOf = settingsReader<IdentitySettings>({
  assistant_id: "assistantId",
  display_name: "displayName",
  reply_to_email: "replyToEmail",
  signature_text: "signatureText",
  signature_html: "signatureHtml",
  thread_history_depth: "threadHistoryDepth",
  status: "status",
  approval_channel: "approvalChannel",
  secondary_approval_channel: "secondaryApprovalChannel",
  escalation_delay_minutes: "escalationDelayMinutes",
  can_send_cold: "canSendCold",
  auto_approve_replies: "autoApproveReplies",
  require_human_approval: "requireHumanApproval",
  send_on_channel_approval: "sendOnChannelApproval",
  aliases: "aliases",
  covered_recipients: "coveredRecipients",
  confirm_code: "confirmCode",
  edit_by_channel: "editByChannel",
  approvals_required: "approvalsRequired",
});

/** Words that only the HTML or only the text of a signature has; null if both say the same, or there is only one. */
async function signatureDifference({ costlyWork }: HttpDependencies, row: IdentityRow) {
  const { workspace_id, signature_html: html, signature_text: text } = row;
  if (!html || !text) return null;
  const found = await costlyWork("compareReadings", { html, text }, workspace_id);
  if (found === null) return null;
  const { onlyHtml, onlyText, linksOnlyHtml, linksOnlyText } = found;
  return {
    only_html: onlyHtml,
    only_text: onlyText,
    links_only_html: linksOnlyHtml,
    links_only_text: linksOnlyText,
  };
}

async function warningsOf(deps: HttpDependencies, row: IdentityRow): Promise<string[]> {
  const unreachable = await unreachableQuorum(deps, {
    workspaceId: row.workspace_id,
    approvalChannel: row.approval_channel,
    secondaryApprovalChannel: row.secondary_approval_channel,
    approvalsRequired: row.approvals_required,
    requireHumanApproval: row.require_human_approval,
  });
  const ineffective = withoutEdit({
    editByChannel: row.edit_by_channel,
    confirmCode: row.confirm_code,
    approvalChannel: row.approval_channel,
    secondaryApprovalChannel: row.secondary_approval_channel,
  });
  return [...(unreachable === null ? [] : [unreachable]), ...ineffective];
}

/** Lists the identities that existed at a time, newest first. */
async function listIdentitiesAt(
  deps: HttpDependencies,
  { workspaceId, at, query }: { workspaceId: string; at: Date; query: IdentityFilter },
): Promise<Page<IdentityRow>> {
  const { domain_id = null, status = null } = query;
  const rows = (await identitiesAt(deps, workspaceId, at)).filter(
    (row) => (domain_id ?? row.domain_id) === row.domain_id && (status ?? row.status) === row.status,
  );
  return pageOfRows(rows, {
    keyOf: ({ created_at, id }) => [created_at.getTime(), id],
    direction: "desc",
    window: query,
  });
}

const shown = async (deps: HttpDependencies, row: IdentityRow) => ({
  ...(await shownThen(deps, row)),
  warnings: await warningsOf(deps, row),
});

/**
 * Converts an identity to the contract's form; secrets of channels are masked. An earlier state has no warnings: they are about the
 * approvers of today.
 */
const shownThen = async (deps: HttpDependencies, row: IdentityRow) => ({
  ...row,
  warnings: [],
  signature_difference: await signatureDifference(deps, row),
  approval_channel: maskedChannel(
    deps,
    { workspaceId: row.workspace_id, slot: "approvalChannel" },
    row.approval_channel,
  ),
  secondary_approval_channel: maskedChannel(
    deps,
    { workspaceId: row.workspace_id, slot: "secondaryApprovalChannel" },
    row.secondary_approval_channel,
  ),
});
