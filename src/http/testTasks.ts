import type { Static } from "typebox";
import { draftById, type ReadDraft } from "#projections/drafts/queries.ts";
import { identityById } from "#projections/identities/queries.ts";
import { requestChannelTest } from "#src/commands/approvals/channelTests.ts";
import { sendTestEmail } from "#src/commands/emails/testEmails.ts";
import type { ChannelTest } from "#streams/channelTest/decider.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { refusals } from "./emails.ts";
import { route } from "./framework/route.ts";
import { timestamp } from "./present/times.ts";
import { Task, TaskAccepted, TestEmail, TestNotification } from "./schemas/emails.ts";

/**
 * Routes for test mails, test notifications and their outcome. The task of a test mail is its draft; that of a notification has its own
 * stream.
 */
export const testTaskRoutes = (deps: HttpDependencies) => [
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
    "POST /v1/identities/:id/test-notification",
    {
      scope: "write:identities",
      limit: "test_email",
      summary: "Send a test notification to an identity's approvers",
      description:
        "A short text that asks nothing goes through the approval channel as it is set. It counts as a notice of the service's own, not as a mail of the plan. Read the task for what became of it.",
      body: TestNotification,
      answers: TaskAccepted,
      status: 202,
      load: ({ workspaceId, params }) => identityById(deps.reads, workspaceId, params.id),
    },
    async ({ workspaceId, params, body, cause }) => {
      const test = { workspaceId, identityId: params.id, slot: body.channel };
      const { testId } = await requestChannelTest(deps, test, cause);
      return { task_id: testId };
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
        if (draft) return draft.kind === "test_email" && presentTask(draft);
        const { state: test } = await deps.channelTests.load(params.task_id);
        return test.exists && test.workspaceId === workspaceId && presentTest(params.task_id, test);
      },
    },
    async ({ loaded }) => loaded,
  ),
];

const statusOfTest = { running: "running", retrying: "running", delivered: "succeeded", failed: "failed" } as const;

const presentTest = (id: string, { status, requestedAt, endedAt, error }: ChannelTest): Static<typeof Task> => ({
  id,
  kind: "test_notification",
  status: statusOfTest[status],
  created_at: requestedAt,
  finished_at: endedAt,
  error,
});

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
