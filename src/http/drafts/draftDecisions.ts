import { assignDraft } from "#src/commands/drafts/assignDraft.ts";
import { requestChanges, withdrawChangesRequest } from "#src/commands/drafts/changesRequests.ts";
import { approveDraft, notifyAgain, rejectDraft, sendDraft } from "#src/commands/drafts/drafts.ts";
import { approveByPerson } from "#src/commands/drafts/signedInDecisions.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { type Caller, route } from "../framework/route.ts";
import { AssignDraft } from "../schemas/assignees.ts";
import { RequestChanges } from "../schemas/changesRequests.ts";
import { ApproversNotified, Draft, DraftSending, RejectDraft } from "../schemas/drafts.ts";
import { draftAfter, etagOfDraft, loadDraftId, shownOnRefusal } from "./draftAnswers.ts";

/** Routes for deciding about a draft and sending it. */
export const draftDecisionRoutes = (deps: HttpDependencies) => [
  route(
    "POST /v1/drafts/:id/approve",
    {
      scope: "write:drafts",
      limit: "write",
      summary: "Approve a pending draft",
      description:
        "Approving with an API key does not send the draft. If the identity has approvals_required above 1, API keys count as one approver together: the draft stays pending until the others have approved it, `approvals` says who has, and a second approval by a key changes nothing.",
      answers: Draft,
      ifMatch: true,
      etag: etagOfDraft,
      errors: ["invalid_status", "version_mismatch", "human_approval_required", "changes_requested", "loop_guarded"],
      load: loadDraftId(deps),
    },
    async ({ workspaceId, principal, params, ifMatch, cause }) => {
      const approval = { workspaceId, draftId: params.id, ifVersion: ifMatch ?? null };
      const approve = principal.kind === "session" ? approveByPerson : approveDraft;
      const { position } = await shownOnRefusal(deps, () => approve(deps, approval, cause));
      return draftAfter(deps, workspaceId, { draftId: params.id, position });
    },
  ),
  route(
    "POST /v1/drafts/:id/reject",
    {
      scope: "write:drafts",
      limit: "write",
      summary: "Reject a draft",
      description: "A pending, approved or stale draft can be rejected. A rejection is final.",
      body: RejectDraft,
      answers: Draft,
      etag: etagOfDraft,
      errors: ["invalid_status"],
      load: loadDraftId(deps),
    },
    async ({ workspaceId, params, body, cause }) => {
      const rejection = { workspaceId, draftId: params.id, reason: body.reason ?? null };
      const { position } = await rejectDraft(deps, rejection, cause);
      return draftAfter(deps, workspaceId, { draftId: params.id, position });
    },
  ),
  route(
    "POST /v1/drafts/:id/request-changes",
    {
      scope: "write:drafts",
      limit: "write",
      summary: "Ask the agent to change a pending draft",
      description:
        "An approver's third answer, besides approving and rejecting; an API key also needs the scope write:approvals. The draft stays pending, and the agent learns the text by the event draft.changes_requested, the field changes_requested and wait_for_decision. Until the draft is edited or the request is withdrawn, nobody can approve or send it, and the buttons for this version are closed. With If-Match, only that version is meant.",
      body: RequestChanges,
      answers: Draft,
      ifMatch: true,
      etag: etagOfDraft,
      errors: ["insufficient_scope", "invalid_status", "version_mismatch", "changes_requested"],
      load: loadDraftId(deps),
    },
    async ({ workspaceId, principal, params, ifMatch, body, cause }) => {
      requireApproversScope(principal, "asking for changes is an approver's answer");
      const request = { workspaceId, draftId: params.id, ifVersion: ifMatch ?? null, text: body.text };
      const { position } = await shownOnRefusal(deps, () => requestChanges(deps, request, cause));
      return draftAfter(deps, workspaceId, { draftId: params.id, position });
    },
  ),
  route(
    "POST /v1/drafts/:id/withdraw-changes-request",
    {
      scope: "write:drafts",
      limit: "write",
      summary: "Withdraw your own request for changes",
      description:
        "Only the approver who asked for changes can withdraw the request; all API keys together count as one, and need the scope write:approvals. The approvers are then asked about the version again.",
      answers: Draft,
      etag: etagOfDraft,
      errors: ["insufficient_scope", "invalid_status"],
      load: loadDraftId(deps),
    },
    async ({ workspaceId, principal, params, cause }) => {
      requireApproversScope(principal, "asking for changes is an approver's answer");
      const { position } = await withdrawChangesRequest(deps, { workspaceId, draftId: params.id }, cause);
      return draftAfter(deps, workspaceId, { draftId: params.id, position });
    },
  ),
  route(
    "POST /v1/drafts/:id/assign",
    {
      scope: "write:drafts",
      limit: "write",
      summary: "Assign a pending draft to a member, or to nobody",
      description:
        "A sign to colleagues who takes care of the decision, shown as `assigned_to`; it restricts nobody's right to decide. It stays through new versions and ends with the decision. The assignee is a member of this workspace who may decide about drafts; any other id answers 404 for `user_id`. An API key also needs the scope write:approvals. A draft that is decided answers 409.",
      body: AssignDraft,
      answers: Draft,
      etag: etagOfDraft,
      errors: ["insufficient_scope"],
      conflict: "the draft is decided",
      load: loadDraftId(deps),
    },
    async ({ workspaceId, principal, params, body, cause }) => {
      requireApproversScope(principal, "assigning a draft is for its approvers");
      const { position } = await assignDraft(deps, { workspaceId, draftId: params.id, userId: body.user_id }, cause);
      return draftAfter(deps, workspaceId, { draftId: params.id, position });
    },
  ),
  route(
    "POST /v1/drafts/:id/send",
    {
      scope: "write:emails",
      limit: "send",
      summary: "Send a pending or approved draft",
      description:
        "Queues the draft for delivery. If a newer message has arrived than the one it answers, the draft becomes stale: reject it and submit a new one. If the identity's name, reply-to or signature changed after an approval, the draft has a new version without a decision: this answers 409 content_changed with its `version` and `content_sha256`, until the new version is approved, or sent with `If-Match: \"<version>\"` and a new Idempotency-Key. A pending draft that was never approved is updated and sent. With If-Match, only that version is sent. If the identity has approvals_required above 1, sending a pending draft counts as the API keys' approval: it is sent if that was the last one missing, else this answers 422 approvals_missing with `required` and `given`.",
      answers: DraftSending,
      status: 202,
      ifMatch: true,
      errors: [
        "plan_limit_reached",
        "stale_draft",
        "content_changed",
        "changes_requested",
        "version_mismatch",
        "invalid_status",
        "identity_not_active",
        "sending_paused",
        "human_approval_required",
        "approvals_missing",
        "loop_guarded",
      ],
      load: loadDraftId(deps),
    },
    async ({ workspaceId, params, ifMatch, cause }) => {
      const send = { workspaceId, draftId: params.id, ifVersion: ifMatch ?? null };
      const sent = await shownOnRefusal(deps, () => sendDraft(deps, send, cause));
      await deps.readAfter(sent.position, params.id);
      return { draft_id: params.id, thread_id: sent.threadId, status: "sending", queued_at: sent.queuedAt };
    },
  ),
  route(
    "POST /v1/drafts/:id/notify",
    {
      scope: "write:drafts",
      limit: "notify",
      summary: "Notify the approvers of a pending draft again",
      answers: ApproversNotified,
      errors: ["invalid_status"],
      load: loadDraftId(deps),
    },
    async ({ workspaceId, params, cause }) => {
      const { position, channel, notifiedAt } = await notifyAgain(deps, { workspaceId, draftId: params.id }, cause);
      await deps.readAfter(position, params.id);
      return { draft_id: params.id, channel, notified_at: notifiedAt };
    },
  ),
];

/** Requires of an API key the scope write:approvals, so that an agent does not answer for its approvers. Throws Rejected insufficient_scope. */
function requireApproversScope({ kind, scopes }: Caller["principal"], why: string): void {
  if (kind === "session" || scopes.includes("write:approvals")) return;
  throw new Rejected(
    "insufficient_scope",
    `${why}: by API key it needs the scope write:approvals, which this API key does not have`,
  );
}
