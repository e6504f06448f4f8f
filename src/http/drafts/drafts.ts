import { answersMeanwhile, listDrafts, otherPendingDrafts, type ReadDraft } from "#projections/drafts/queries.ts";
import { newerHumanMessageId } from "#projections/messages/queries.ts";
import { threadAt } from "#src/commands/asOf/threadAt.ts";
import { draftAtVersion, threadOfDraft } from "#src/commands/drafts/draftHistories.ts";
import { editDraft } from "#src/commands/drafts/drafts.ts";
import { submitDraft } from "#src/commands/drafts/submitDraft.ts";
import { Rejected } from "#streams/decider.ts";
import type { JudgedWarning } from "#streams/draft/warnings.ts";
import { readAttachments } from "../attachments/attachmentUpload.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { requireAudit, requireThen, timeAsked } from "../earlierStates.ts";
import { invalid } from "../framework/errors.ts";
import { listRoute } from "../framework/lists.ts";
import { route } from "../framework/route.ts";
import { endOf, startOf } from "../framework/validation/days.ts";
import { presentDraft, presentDrafts, type WireDraft } from "../present/drafts.ts";
import { DraftQuery } from "../schemas/draftQuery.ts";
import {
  attachmentBodyLimit,
  CreateDraft,
  Draft,
  DraftList,
  DraftStateQuery,
  EditDraft,
  SubmittedDraft,
} from "../schemas/drafts.ts";
import { findThread } from "../threads.ts";
import { waitForSearch } from "../waitForSearch.ts";
import { draftAfter, editOf, etagOfDraft, loadDraft, noVersion } from "./draftAnswers.ts";
import { draftDecisionRoutes } from "./draftDecisions.ts";

export const draftRoutes = (deps: HttpDependencies) => [
  route(
    "POST /v1/drafts",
    {
      scope: "write:drafts",
      limit: "write",
      summary: "Submit a draft reply",
      description:
        "A newer inbound message does not block the submission: stale_warning tells you that there is one. A warning also tells you if the message was already answered, or another draft on it is pending. Mail that was acknowledged before the submission counts: the submission waits up to 2 s for it to be filed. If the identity has auto_approve_replies, the draft is queued immediately.",
      body: CreateDraft,
      bodyLimit: attachmentBodyLimit,
      answers: SubmittedDraft,
      status: 201,
      etag: etagOfDraft,
      errors: ["plan_limit_reached", "not_found", "loop_guarded", "assistant_disabled"],
    },
    async ({ workspaceId, body, cause }) => {
      const { draftId, position } = await submitDraft(
        deps,
        {
          workspaceId,
          threadId: body.thread_id,
          identityId: body.identity_id,
          basedOnMessageId: body.based_on_message_id,
          bodyText: body.body_text ?? null,
          bodyHtml: body.body_html ?? null,
          subjectOverride: body.subject_override ?? null,
          cc: body.cc ?? [],
          bcc: body.bcc ?? [],
          rationale: body.rationale ?? null,
          metadata: body.metadata ?? null,
          attachments: readAttachments(body.attachments ?? []),
        },
        cause,
      );
      const draft = await draftAfter(deps, workspaceId, { draftId, position });
      return { ...draft, warnings: await warningsOf(deps, workspaceId, draft) };
    },
  ),
  listRoute(
    "GET /v1/drafts",
    {
      scope: "read:threads",
      limit: "read",
      summary: "List drafts",
      description:
        "Newest first. `from_date` and `to_date` are about their submission; a date alone is a whole day in UTC.",
      query: DraftQuery,
      answers: DraftList,
      cursors: deps.cursors,
    },
    async ({ workspaceId, query: { from_date, to_date, ...query } }) => {
      if (query.q !== undefined || query.person !== undefined) await waitForSearch(deps);
      const thread = query.thread_id && (await findThread(deps, workspaceId, query.thread_id));
      const filter = {
        ...query,
        ...(thread && { thread_id: thread.survivor.id }),
        ...(from_date !== undefined && { from: startOf(from_date) }),
        ...(to_date !== undefined && { to: endOf(to_date) }),
      };
      const drafts = await listDrafts(deps.reads, workspaceId, filter);
      return { ...drafts, data: await presentDrafts(deps.blobs, drafts.data) };
    },
  ),
  route(
    "GET /v1/drafts/:id",
    {
      scope: "read:threads",
      limit: "read",
      summary: "Read a draft, in its current or an earlier state",
      description:
        "With `at` or `version` the draft is replayed from the event log as it was then; an earlier version has no warning other_draft. This needs the scope read:audit, and answers 404 if the draft did not exist yet.",
      query: DraftStateQuery,
      answers: Draft,
      etag: etagOfDraft,
      errors: ["insufficient_scope"],
      load: loadDraft(deps),
    },
    async ({ loaded, query, principal }) => {
      const { at: asked, version } = query;
      if (asked !== undefined && version !== undefined)
        throw invalid("version", "expected either at or version, not both");
      const at = timeAsked(deps, asked, principal);
      if (at) return presentDraft(deps.blobs, requireThen(await draftThen(deps, loaded, at), at));
      if (version === undefined) return presentDraft(deps.blobs, loaded);
      requireAudit(principal);
      return presentDraft(deps.blobs, await draftOfVersion(deps, loaded, version));
    },
  ),
  route(
    "PATCH /v1/drafts/:id",
    {
      scope: "write:drafts",
      limit: "write",
      summary: "Edit a pending draft",
      description:
        "An edit creates a new version, and the version it replaces is kept. With If-Match, only that version is edited.",
      body: EditDraft,
      answers: Draft,
      ifMatch: true,
      etag: etagOfDraft,
      errors: ["invalid_status", "version_mismatch"],
      load: loadDraft(deps),
    },
    async ({ workspaceId, params, loaded, body, ifMatch, cause }) => {
      const edit = await editOf(deps, { workspaceId, loaded, body, ifMatch });
      const { position } = await retriedWhere(ifMatch === undefined, () => editDraft(deps, edit, cause));
      return draftAfter(deps, workspaceId, { draftId: params.id, position });
    },
  ),
  ...draftDecisionRoutes(deps),
];

/** Warnings for the agent about its new draft, as sentences. */
async function warningsOf(deps: HttpDependencies, workspaceId: string, draft: WireDraft): Promise<string[]> {
  const { answered_meanwhile: answered } = draft;
  const others = await otherPendingDrafts(deps.reads, workspaceId, draft);
  return [
    ...(answered
      ? [
          `the message was already answered, from ${answered.from_email}, at ${answered.at} (message_id ${answered.message_id}): do not answer it twice`,
        ]
      : []),
    ...others.map(({ id }) => `another draft on the same message is pending (draft_id ${id}): reject one of them`),
  ];
}

const maxEditConflicts = 10;

/** Retries an edit after a version conflict if the request has no If-Match, because such an edit applies to whichever version is newest. */
async function retriedWhere<T>(namesNoVersion: boolean, work: () => Promise<T>): Promise<T> {
  for (let conflicts = 0; ; conflicts++) {
    try {
      return await work();
    } catch (error) {
      const moved = error instanceof Rejected && error.code === "version_mismatch";
      if (!moved || !namesNoVersion || conflicts >= maxEditConflicts) throw error;
    }
  }
}

/** Returns a draft at an earlier time, as the thread had it then; undefined if it was not submitted yet. */
async function draftThen(deps: HttpDependencies, today: ReadDraft, at: Date): Promise<ReadDraft | undefined> {
  const { id, workspace_id: workspaceId, thread_id: survivorId } = today;
  const threadId = await threadOfDraft(deps, id);
  const thread = await threadAt(deps, { workspaceId, threadId, survivorId, at });
  return thread?.drafts.find((draft) => draft.id === id);
}

/** Returns the last state of a draft with this version. */
async function draftOfVersion(deps: HttpDependencies, today: ReadDraft, version: number): Promise<ReadDraft> {
  const earlier = await draftAtVersion(deps, today.id, version);
  if (!earlier) throw noVersion("version", version);
  const { row, until } = earlier;
  const by = until === null ? undefined : new Date(until);
  const newer = await newerHumanMessageId(deps.reads, today.workspace_id, {
    threadId: today.thread_id,
    filingNumber: row.based_on_number,
    by,
  });
  const answers = await answersMeanwhile(deps.reads, today.workspace_id, { draftIds: [today.id], by });
  const answered = answers.get(today.id) ?? null;
  const { approvals_required_now } = today;
  const assignee = row.status === "pending" ? row.assigned_to : null;
  const then = { ...row, newer_message_id: newer, answered_meanwhile: answered, approvals_required_now, assignee };
  return { ...then, judged_warnings: until === null ? today.judged_warnings : judgedThen(then, today) };
}

/** Returns the judged warnings of an earlier version, except other_draft: which other drafts waited then is not known. */
function judgedThen(then: Omit<ReadDraft, "judged_warnings">, today: ReadDraft): JudgedWarning[] {
  const isPending = then.status === "pending";
  return [
    ...(isPending && then.answered_meanwhile !== null ? (["answered_meanwhile"] as const) : []),
    ...(isPending && then.newer_message_id !== null ? (["newer_message"] as const) : []),
    ...today.judged_warnings.filter((kind) => kind === "unproven_sender"),
  ];
}
