import type { Static } from "typebox";
import { draftById, type ReadDraft } from "#projections/drafts/queries.ts";
import { identityById } from "#projections/identities/queries.ts";
import { sendTestEmail } from "#src/commands/emails/testEmails.ts";
import { refusals } from "./emails.ts";
import type { HttpDependencies } from "./framework/dependencies.ts";
import { type Route, route } from "./framework/route.ts";
import { timestamp } from "./present/times.ts";
import { Task, TaskAccepted, TestEmail } from "./schemas/emails.ts";

/** Test mails, and what became of them. A task is its mail's draft, read as a task. */
export const taskRoutes = (deps: HttpDependencies): Route[] => [
  route(
    "POST /v1/identities/:id/test-email",
    {
      scope: "write:identities",
      limit: "test_email",
      summary: "Send a test mail from an identity",
      description:
        "A test mail takes the same path as any mail and counts as one. Its thread is not listed unless somebody replies. If the identity has require_human_approval, a person has to approve it too.",
      body: TestEmail,
      answers: TaskAccepted,
      status: 202,
      errors: refusals,
      load: ({ workspaceId, params }) => identityById(deps.reads, workspaceId, params.id),
    },
    async ({ workspaceId, params, body, cause }) => {
      const test = { workspaceId, identityId: params.id, recipient: body.recipient_email };
      const { draftId, position } = await sendTestEmail(deps, test, cause);
      await deps.readAfter(position, draftId);
      return { task_id: draftId };
    },
  ),
  route(
    "GET /v1/tasks/:task_id",
    {
      scope: "read:identities",
      limit: "read",
      summary: "Read the outcome of a task",
      answers: Task,
      load: async ({ workspaceId, params }) => {
        const draft = await draftById(deps.reads, workspaceId, params.task_id);
        return draft?.kind === "test_email" && draft;
      },
    },
    async ({ loaded }) => presentTask(loaded),
  ),
];

const statusOf: Record<string, Static<typeof Task>["status"]> = {
  pending: "pending",
  approved: "running",
  sending: "running",
  sent: "succeeded",
};

function presentTask(draft: ReadDraft): Static<typeof Task> {
  const status = statusOf[draft.status] ?? "failed";
  const finished = status === "succeeded" || status === "failed";
  return {
    id: draft.id,
    kind: "test_email",
    status,
    created_at: timestamp(draft.created_at),
    finished_at: finished ? timestamp(draft.sent_at ?? draft.updated_at) : null,
    error: status === "failed" ? errorOf(draft) : null,
  };
}

function errorOf(draft: ReadDraft): string {
  if (draft.status === "rejected") return `rejected: ${draft.reason ?? "without a reason"}`;
  if (draft.status === "stale") return "the recipient wrote before the mail was sent";
  return draft.failure_message ?? draft.failure_code ?? "the mail could not be sent";
}
