import type { Static } from "typebox";
import type { DirectlySent } from "#src/commands/emails/directSends.ts";
import { replyEmail, sendEmail } from "#src/commands/emails/emails.ts";
import { readAttachments } from "./attachments/attachmentUpload.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { shownOnRefusal } from "./drafts/draftAnswers.ts";
import type { ErrorCode } from "./framework/errors.ts";
import { route } from "./framework/route.ts";
import { attachmentBodyLimit } from "./schemas/drafts.ts";
import { EmailAccepted, ReplyEmail, SendEmail } from "./schemas/emails.ts";

/** Errors of routes that send mail of a key in one call. */
export const refusals: ErrorCode[] = [
  "plan_limit_reached",
  "not_found",
  "identity_not_active",
  "sending_paused",
  "assistant_disabled",
  // Only if another caller changes the identity or draft during the call.
  "human_approval_required",
  "content_changed",
  "invalid_status",
];

const underApproval =
  "The mail is stored as a draft approved by the calling key, with the same history, hash, quota and send path. If the identity has require_human_approval, the draft stays pending (queued_at null) and its approvers are asked.";

export const emailRoutes = (deps: HttpDependencies) => [
  route(
    "POST /v1/emails/send",
    {
      scope: "write:emails",
      limit: "send",
      summary: "Send a new mail, in a new thread",
      description: `The identity needs can_send_cold, which is set when it is created.\n\n${underApproval}`,
      body: SendEmail,
      bodyLimit: attachmentBodyLimit,
      answers: EmailAccepted,
      status: 202,
      errors: [...refusals, "cold_send_not_allowed"],
    },
    async ({ workspaceId, body, cause }) => {
      const request = {
        ...letterOf(body),
        workspaceId,
        identityId: body.identity_id,
        to: body.to,
        subject: body.subject,
        metadata: body.metadata ?? null,
      };
      return accepted(deps, await shownOnRefusal(deps, () => sendEmail(deps, request, cause)));
    },
  ),
  route(
    "POST /v1/emails/reply",
    {
      scope: "write:emails",
      limit: "send",
      summary: "Reply on a thread",
      description: `Recipients and headers come from the message that is answered. If you give the message you read as based_on_message_id, a newer message leads to 409 stale_draft (the stored draft stays, as stale). Without it, the newest message is answered, a person's before a machine's. A machine is answered only once (422 loop_guarded).\n\n${underApproval}`,
      body: ReplyEmail,
      bodyLimit: attachmentBodyLimit,
      answers: EmailAccepted,
      status: 202,
      errors: [...refusals, "stale_draft", "loop_guarded"],
    },
    async ({ workspaceId, body, cause }) => {
      const request = {
        ...letterOf(body),
        workspaceId,
        threadId: body.thread_id,
        basedOnMessageId: body.based_on_message_id ?? null,
        replyAll: body.reply_all,
      };
      return accepted(deps, await shownOnRefusal(deps, () => replyEmail(deps, request, cause)));
    },
  ),
];

type Letter = Pick<Static<typeof SendEmail>, "body_text" | "body_html" | "cc" | "bcc" | "attachments">;

export const letterOf = ({ body_text, body_html, cc, bcc, attachments }: Letter) => ({
  bodyText: body_text ?? null,
  bodyHtml: body_html ?? null,
  cc: cc ?? [],
  bcc: bcc ?? [],
  attachments: readAttachments(attachments ?? []),
});

async function accepted(deps: HttpDependencies, sent: DirectlySent): Promise<Static<typeof EmailAccepted>> {
  const { draftId, messageId, threadId, status, queuedAt, position, warnings = [] } = sent;
  await deps.readAfter(position, draftId);
  const ids = { draft_id: draftId, message_id: messageId, thread_id: threadId };
  return { ...ids, status, queued_at: queuedAt, warnings: [...warnings] };
}
