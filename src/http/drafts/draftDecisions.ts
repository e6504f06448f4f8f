import { approveDraft, notifyAgain, rejectDraft, sendDraft } from "#src/commands/drafts/drafts.ts";
import type { HttpDependencies } from "../framework/dependencies.ts";
import { type Route, route } from "../framework/route.ts";
import { ApproversNotified, Draft, DraftSending, RejectDraft } from "../schemas/drafts.ts";
import { draftAfter, etagOfDraft, loadDraft, shownOnRefusal } from "./draftAnswers.ts";

/** What may be decided about a draft, and sending it. */
export const draftDecisionRoutes = (deps: HttpDependencies): Route[] => [
  route(
    "POST /v1/drafts/:id/approve",
    {
      scope: "write:drafts",
      limit: "write",
      summary: "Approve a pending draft",
      description: "Approving by key does not send.",
      answers: Draft,
      ifMatch: true,
      etag: etagOfDraft,
      errors: ["invalid_status", "version_mismatch", "human_approval_required"],
      load: loadDraft(deps),
    },
    async ({ workspaceId, params, ifMatch, cause }) => {
      const approval = { workspaceId, draftId: params.id, ifVersion: ifMatch ?? null };
      const { position } = await approveDraft(deps, approval, cause);
      return draftAfter(deps, workspaceId, { draftId: params.id, position });
    },
  ),
  route(
    "POST /v1/drafts/:id/reject",
    {
      scope: "write:drafts",
      limit: "write",
      summary: "Reject a draft",
      description: "A pending, approved or stale one, for good.",
      body: RejectDraft,
      answers: Draft,
      etag: etagOfDraft,
      errors: ["invalid_status"],
      load: loadDraft(deps),
    },
    async ({ workspaceId, params, body, cause }) => {
      const rejection = { workspaceId, draftId: params.id, reason: body.reason ?? null };
      const { position } = await rejectDraft(deps, rejection, cause);
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
        'Queues it for delivery. A message that is newer than the one it answers makes it stale: reject it and submit a new one. Where the identity\'s name, reply-to or signature changed after an approval, the draft has a new version that nobody decided on: 409 content_changed with its `version` and `content_sha256`, until it is approved, or sent with `If-Match: "<version>"` under a new Idempotency-Key. A pending draft that was never approved is brought up to date and sent. With If-Match only the version it names is sent.',
      answers: DraftSending,
      status: 202,
      ifMatch: true,
      errors: [
        "plan_limit_reached",
        "stale_draft",
        "content_changed",
        "version_mismatch",
        "invalid_status",
        "identity_not_active",
        "sending_paused",
        "human_approval_required",
        "loop_guarded",
      ],
      load: loadDraft(deps),
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
      summary: "Notify the approvers of a pending draft once more",
      answers: ApproversNotified,
      errors: ["invalid_status"],
      load: loadDraft(deps),
    },
    async ({ workspaceId, params, cause }) => {
      const { position, channel, notifiedAt } = await notifyAgain(deps, { workspaceId, draftId: params.id }, cause);
      await deps.readAfter(position, params.id);
      return { draft_id: params.id, channel, notified_at: notifiedAt };
    },
  ),
];
