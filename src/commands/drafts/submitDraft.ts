import { identityById } from "#projections/identities/queries.ts";
import { positionOfMessage } from "#projections/messages/queries.ts";
import { threadById } from "#projections/threads/queries.ts";
import { answerHeaders } from "#src/mail/out/threadHeaders.ts";
import { invalidRequest, notFound } from "#streams/decider.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { requireOtherRecipients, requireUsableRecipients } from "#streams/draft/recipients.ts";
import { newerHumanMessage } from "#streams/draft/staleness.ts";
import { mayBeGranted } from "#streams/inbox/mailKinds.ts";
import type { MessagePlace } from "#streams/thread/events.ts";
import { machineAddresses, requireNoLoop } from "#streams/thread/loopGuard.ts";
import { requiresHuman } from "../approvals/humanApproval.ts";
import { requireAssistantActive } from "../assistants.ts";
import type { Dependencies } from "../dependencies.ts";
import { replyTo } from "../emails/replyRecipients.ts";
import type { Cause } from "../handle.ts";
import { derivedId, newId } from "../ids.ts";
import { canNoRuleApply } from "../rules/ruleRuns.ts";
import { waitForSubmission } from "../sends/barrier.ts";
import { requireSenderAllowed } from "../sends/sendChecks.ts";
import { type FiledMail, readFiledMail } from "../threads/answeredMail.ts";
import { loadThread } from "../threads/threads.ts";
import { changeDraft } from "./changeDraft.ts";
import { composeLetter, type SubmittedAttachment, type WrittenLetter } from "./composeLetter.ts";
import { contentSha256, type IdentityParts, identityParts, storeContent } from "./draftContents.ts";
import { examineVersion } from "./examineVersion.ts";

export type SubmitDraftRequest = {
  workspaceId: string;
  threadId: string;
  identityId: string;
  basedOnMessageId: string;
  bodyText: string | null;
  bodyHtml: string | null;
  subjectOverride: string | null;
  cc: string[];
  bcc: string[];
  rationale: string | null;
  metadata: Record<string, unknown> | null;
  attachments: SubmittedAttachment[];
};

/**
 * Records an agent's draft. A newer message in the thread only causes a warning. The submission waits up to 2 s until mail acknowledged
 * before it is filed, so that such mail counts as newer. Throws Rejected not_found naming the field, invalid_request, and
 * plan_limit_reached for an auto-approved draft over the quota; then nothing was created.
 */
export async function submitDraft(
  deps: Dependencies,
  request: SubmitDraftRequest,
  cause: Cause,
): Promise<{ draftId: string; position: number }> {
  const draftId = newId(deps, cause, "draft");
  if (cause.repeated) {
    const { state, position } = await deps.drafts.load(draftId);
    // An earlier run created the draft. Return it, whatever happened to thread, quota or identity since.
    if (state.exists) return { draftId, position };
  }
  const { message, answers } = await requireSubjects(deps, request);
  const { workspaceId, identityId } = request;
  // Mail acknowledged before this submission may be a newer message, or may merge the thread into another.
  await waitForSubmission(deps, identityId);
  const [{ state: current, threadId }, { state: identity }] = await Promise.all([
    loadThread(deps, request.threadId),
    deps.identities.load(identityId),
  ]);
  await requireAssistantActive(deps, identity);
  const autoApproved =
    identity.autoApproveReplies &&
    identity.approvalsRequired === 1 &&
    mayBeGranted(message) &&
    !(await requiresHuman(deps, identity));
  if (autoApproved) await requireSenderAllowed(deps, { workspaceId, identityId }, "approved by a setting");
  const to = replyTo({ mail: message, identity });
  const recipients = { to, cc: request.cc, bcc: request.bcc };
  requireUsableRecipients(recipients);
  requireOtherRecipients(recipients, identity, "based_on_message_id");
  const basedOnNumber = message.number;
  const answersMachine = machineAddresses(message, to);
  requireNoLoop(current, { draftId: "", ...answersMachine });
  // This check is the last one that may refuse the draft, because it stores the attachments.
  const { making, ...letter } = await composeLetter(deps, request);
  const own = await identityParts(deps, { identity, letter });
  const content = contentOf(request, letter, { own, to, subject: current.subject, message });
  const draft = {
    ...(await storeContent(deps.blobs, content)),
    ...making,
    workspaceId,
    threadId,
    identityId,
    basedOnMessageId: message.messageId,
    basedOnNumber,
    basedOnReceivedAt: message.receivedAt,
    answers,
    messageId: derivedId("message", draftId),
    contentSha256: contentSha256(content),
    rationale: request.rationale,
    metadata: request.metadata,
    staleWarning: newerHumanMessage(current, { basedOnNumber }) !== null,
    autoApproved,
    ...answersMachine,
    warnings: await examineVersion(deps, {
      ...{ workspaceId, threadId, basedOnMessageId: message.messageId },
      ...{ identity, content, making },
    }),
  };
  const { assistantId } = identity;
  const basis = { workspaceId, identityId, assistantId, basedOnMessageId: message.messageId };
  const withoutRules = autoApproved && (await canNoRuleApply(deps, basis));
  const command = { type: "SubmitDraft", draft, ...(withoutRules && { withoutRules }) } as const;
  const { position } = await changeDraft(deps, { draftId, command }, cause);
  return { draftId, position };
}

/**
 * Finds the message that a draft answers, and checks that message, thread and identity belong together and to this workspace. Read models
 * say where the message is in the log; the message itself is read from its stream.
 */
async function requireSubjects(
  deps: Dependencies,
  { workspaceId, threadId, identityId, basedOnMessageId }: SubmitDraftRequest,
): Promise<{ message: FiledMail; answers: MessagePlace }> {
  const [thread, identity, answers] = await Promise.all([
    threadById(deps.reads, workspaceId, threadId),
    identityById(deps.reads, workspaceId, identityId),
    positionOfMessage(deps.reads, workspaceId, basedOnMessageId),
  ]);
  if (!thread) throw notFound("thread_id", "thread");
  if (!identity) throw notFound("identity_id", "identity");
  if (answers === undefined) throw notFound("based_on_message_id", "message");
  if (thread.identity_id !== identity.id) {
    throw invalidRequest("identity_id", "expected the identity that the thread belongs to");
  }
  if (answers === null || !(await isOneThread(deps, answers.threadId, thread.id))) {
    throw invalidRequest("based_on_message_id", "expected an inbound message of the thread");
  }
  const message = await readFiledMail(deps, answers, { workspaceId, messageId: basedOnMessageId });
  if (!message) throw notFound("based_on_message_id", "message");
  return { message, answers };
}

/**
 * Returns true if both ids mean the same thread. Compares by streams, because a message keeps the thread it was filed on even after that
 * thread was merged into another.
 */
async function isOneThread(deps: Dependencies, oneId: string, otherId: string): Promise<boolean> {
  if (oneId === otherId) return true;
  const [one, other] = await Promise.all([loadThread(deps, oneId), loadThread(deps, otherId)]);
  return one.threadId === other.threadId;
}

function contentOf(
  request: SubmitDraftRequest,
  letter: Pick<WrittenLetter, "body_text" | "body_html" | "attachments">,
  { own, to, subject, message }: { own: IdentityParts; to: string[]; subject: string; message: FiledMail },
): DraftContent {
  return {
    ...own,
    to,
    ...answerHeaders({ messageId: message.rfcMessageId, references: message.references }),
    cc: request.cc,
    bcc: request.bcc,
    subject: request.subjectOverride ?? subject,
    ...letter,
  };
}
