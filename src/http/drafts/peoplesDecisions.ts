import Type from "typebox";
import { rejectionReasons } from "#projections/drafts/queries.ts";
import { decidingMembers } from "#projections/members/queries.ts";
import { approveByPerson, editAndApprove, undoApproval } from "#src/commands/drafts/signedInDecisions.ts";
import { replyEmail } from "#src/commands/emails/emails.ts";
import { chooseDraftMail, draftMailOf } from "#src/commands/members/draftMail.ts";
import { chooseHeadMail, headMailOf } from "#src/commands/members/headMail.ts";
import { draftMails } from "#streams/member/draftMail.ts";
import { headMails } from "#streams/member/headMail.ts";
import { type HttpDependencies, routesAnsweredFrom } from "../dependencies.ts";
import { letterOf, refusals } from "../emails.ts";
import { route } from "../framework/route.ts";
import { Strict, Uuid } from "../schemas/common.ts";
import { attachmentBodyLimit, Draft, EditDraft } from "../schemas/drafts.ts";
import { ThreadReply } from "../schemas/emails.ts";
import { findThread } from "../threads.ts";
import { draftAfter, editOf, etagOfDraft, loadDraft, loadDraftId, shownOnRefusal } from "./draftAnswers.ts";

const RejectionReasons = Strict({
  data: Type.Array(Strict({ reason: Type.String(), count: Type.Integer({ minimum: 1 }) }), { maxItems: 8 }),
});

/** Maximum number of drafts on a sheet: as many as a person reads whole on one page. */
export const maxOnSheet = 10;

const Assignees = Strict({ data: Type.Array(Strict({ user_id: Uuid, name: Type.String() })) });

/** Settings of a member that concern nobody else. */
const OwnSettings = Strict({ draft_mail: Type.Enum([...draftMails]) });

/** Another setting of a member, for roles that read the audit tree. */
const OwnHeadMail = Strict({ head_mail: Type.Enum([...headMails]) });

const ApproveOnSheet = Strict({
  content_sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  /** Made by the console for one submitted page; refers to nothing stored. */
  sheet: Type.String({ pattern: "^[0-9a-f-]{36}$" }),
  sheet_size: Type.Integer({ minimum: 1, maximum: maxOnSheet }),
});

/**
 * Routes for signed-in people, called by the console only: no API key can have the scope, and HTTP does not serve them. Actions of both
 * people and keys (approve, reject, edit, notify) are with the drafts' routes.
 */
export const peoplesRoutes = (deps: HttpDependencies) =>
  routesAnsweredFrom(deps, ["drafts", "threads", "messages", "identities", "members"], peoplesDraftRoutes);

const peoplesDraftRoutes = (deps: HttpDependencies) => [
  route(
    "POST /v1/drafts/:id/edit-and-approve",
    {
      scope: "decide:drafts",
      limit: "write",
      summary: "Edit a pending draft and approve the new version",
      description:
        "If-Match names the version that was shown. If only one of the two bodies was edited, the other is generated from it.",
      body: EditDraft,
      answers: Draft,
      ifMatch: true,
      etag: etagOfDraft,
      errors: ["invalid_status", "version_mismatch", "stale_draft"],
      load: loadDraft(deps),
    },
    async ({ workspaceId, params, loaded, body, ifMatch, cause }) => {
      const edit = await editOf(deps, { workspaceId, loaded, body, ifMatch });
      const { position } = await shownOnRefusal(deps, () => editAndApprove(deps, edit, cause));
      return draftAfter(deps, workspaceId, { draftId: params.id, position });
    },
  ),
  route(
    "POST /v1/drafts/:id/approve-on-sheet",
    {
      scope: "decide:drafts",
      limit: "write",
      summary: "Approve one of several drafts that were shown on one page",
      description: "If-Match names the version, and content_sha256 the content, that were shown.",
      body: ApproveOnSheet,
      answers: Draft,
      ifMatch: true,
      etag: etagOfDraft,
      errors: ["invalid_status", "version_mismatch", "stale_draft", "changes_requested"],
      load: loadDraftId(deps),
    },
    async ({ workspaceId, params, body, ifMatch, cause }) => {
      const approval = {
        ...{ workspaceId, draftId: params.id, ifVersion: ifMatch ?? null },
        contentSha256: body.content_sha256,
        sheet: { id: body.sheet, size: body.sheet_size },
      };
      const { position } = await shownOnRefusal(deps, () => approveByPerson(deps, approval, cause));
      return draftAfter(deps, workspaceId, { draftId: params.id, position });
    },
  ),
  route(
    "POST /v1/drafts/:id/undo",
    {
      scope: "decide:drafts",
      limit: "write",
      summary: "Undo your own approval",
      description: "Possible until the draft is being sent, or while others have to approve too.",
      answers: Draft,
      etag: etagOfDraft,
      errors: ["invalid_status"],
      load: loadDraft(deps),
    },
    async ({ workspaceId, params, cause }) => {
      const { position } = await undoApproval(deps, { workspaceId, draftId: params.id }, cause);
      return draftAfter(deps, workspaceId, { draftId: params.id, position });
    },
  ),
  route(
    "POST /v1/threads/:id/reply",
    {
      scope: "decide:drafts",
      limit: "send",
      summary: "Write a reply and send it",
      description:
        "The reply is a draft that its author approves by writing it. It is sent once it can no longer be undone.",
      body: ThreadReply,
      bodyLimit: attachmentBodyLimit,
      answers: Draft,
      status: 201,
      etag: etagOfDraft,
      errors: [...refusals, "stale_draft", "loop_guarded"],
      load: ({ workspaceId, params }) => findThread(deps, workspaceId, params.id),
    },
    async ({ workspaceId, params, body, cause }) => {
      const request = {
        ...letterOf(body),
        workspaceId,
        threadId: params.id,
        basedOnMessageId: body.based_on_message_id ?? null,
        replyAll: body.reply_all,
      };
      const reply = await shownOnRefusal(deps, () => replyEmail(deps, request, cause));
      return draftAfter(deps, workspaceId, reply);
    },
  ),
  route(
    "GET /v1/assignees",
    {
      scope: "decide:drafts",
      limit: "read",
      summary: "List the members to whom a draft can be assigned",
      answers: Assignees,
    },
    async ({ workspaceId }) => ({ data: await decidingMembers(deps.reads, workspaceId) }),
  ),
  route(
    "GET /v1/members/me",
    {
      scope: "decide:drafts",
      limit: "read",
      summary: "Read your own settings in this workspace",
      answers: OwnSettings,
    },
    async ({ workspaceId, cause }) => ({
      draft_mail: await draftMailOf(deps, { workspaceId, userId: cause.actor.id }),
    }),
  ),
  route(
    "PATCH /v1/members/me",
    {
      scope: "decide:drafts",
      limit: "write",
      summary: "Choose how you are mailed about drafts that wait for a decision",
      body: OwnSettings,
      answers: OwnSettings,
    },
    async ({ workspaceId, body, cause }) => {
      await chooseDraftMail(deps, { workspaceId, draftMail: body.draft_mail }, cause);
      return body;
    },
  ),
  route(
    "GET /v1/members/me/head-mail",
    {
      scope: "read:audit",
      limit: "read",
      summary: "Read whether signed heads of the audit tree are mailed to you",
      answers: OwnHeadMail,
    },
    async ({ workspaceId, cause }) => ({
      head_mail: await headMailOf(deps, { workspaceId, userId: cause.actor.id }),
    }),
  ),
  route(
    "PATCH /v1/members/me/head-mail",
    {
      scope: "read:audit",
      limit: "write",
      summary: "Choose whether signed heads of the audit tree are mailed to you",
      body: OwnHeadMail,
      answers: OwnHeadMail,
    },
    async ({ workspaceId, body, cause }) => {
      await chooseHeadMail(deps, { workspaceId, headMail: body.head_mail }, cause);
      return body;
    },
  ),
  route(
    "GET /v1/rejection-reasons",
    {
      scope: "decide:drafts",
      limit: "read",
      summary: "List recent reasons for rejections",
      description: "Most used first, at most 8.",
      query: Strict({ identity_id: Type.Optional(Uuid) }),
      answers: RejectionReasons,
    },
    async ({ workspaceId, query }) => ({
      data: await rejectionReasons(deps.reads, workspaceId, query.identity_id ?? null),
    }),
  ),
];
