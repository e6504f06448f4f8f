import { newestInbound, positionOfMessage } from "#projections/messages/queries.ts";
import { type ThreadRow, threadById } from "#projections/threads/queries.ts";
import { answerHeaders } from "#src/mail/out/threadHeaders.ts";
import { invalidRequest, notFound, Rejected } from "#streams/decider.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { DirectKind } from "#streams/draft/events.ts";
import { requireFewCopies, requireOtherRecipients, requireUsableRecipients } from "#streams/draft/recipients.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { MessagePlace } from "#streams/thread/events.ts";
import { machineAddresses, requireNoLoop } from "#streams/thread/loopGuard.ts";
import type { Dependencies } from "../dependencies.ts";
import { composeLetter, type SubmittedLetter } from "../drafts/composeLetter.ts";
import { identityParts } from "../drafts/draftContents.ts";
import type { Cause } from "../handle.ts";
import { contactId, newId } from "../ids.ts";
import { requireProjected } from "../readModels.ts";
import { waitUntilFiled } from "../sends/barrier.ts";
import { type FiledMail, readFiledMail } from "../threads/answeredMail.ts";
import { loadThread } from "../threads/threads.ts";
import { type DirectlySent, requireDirectSend, resumeSend, sendDirectly } from "./directSends.ts";
import { leftOutWarnings, replyTo, replyToAll } from "./replyRecipients.ts";

export type SendRequest = SubmittedLetter & {
  workspaceId: string;
  identityId: string;
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string;
  metadata: Record<string, unknown> | null;
};

/**
 * Sends a first mail to a recipient, which opens a new thread. Throws Rejected not_found naming the field, cold_send_not_allowed, and any
 * refusal of a send; a refused mail is not sent later.
 */
export async function sendEmail(deps: Dependencies, request: SendRequest, cause: Cause): Promise<DirectlySent> {
  requireUsableRecipients(request);
  const { workspaceId, identityId } = request;
  const identity = await loadIdentity(deps, workspaceId, identityId);
  requireOtherRecipients(request, identity);
  if (!identity.canSendCold) {
    const sentence =
      "this identity may only reply on existing threads: use an identity that was created with can_send_cold true";
    throw new Rejected("cold_send_not_allowed", sentence);
  }
  return openThreadByMail(deps, { ...request, kind: "send", identity }, cause);
}

/** Sends a mail that opens a thread. */
export async function openThreadByMail(
  deps: Dependencies,
  request: SendRequest & { kind: Exclude<DirectKind, "reply">; identity: Identity },
  cause: Cause,
): Promise<DirectlySent> {
  const { kind, identity, workspaceId, identityId, to, cc, bcc, subject, metadata } = request;
  const draftId = newId(deps, cause, "draft");
  const resumed = await resumeSend(deps, draftId, cause);
  if (resumed) return resumed;
  await requireDirectSend(deps, { workspaceId, identityId, identity }, cause);
  const { making, ...letter } = await composeLetter(deps, request);
  const content: DraftContent = {
    ...(await identityParts(deps, { identity, letter })),
    to,
    cc,
    bcc,
    subject,
    in_reply_to: null,
    references: [],
    ...letter,
  };
  const threadId = newId(deps, cause, "thread");
  const contactEmail = to[0] as string;
  const opened = {
    workspaceId,
    identityId,
    subject,
    contactEmail,
    contactId: contactId(workspaceId, contactEmail),
    openedBy: kind,
    recipients: [...to, ...cc],
  };
  await deps.threads.handle(threadId, { type: "OpenThread", opened }, cause);
  const draft = { kind, draftId, workspaceId, threadId, identityId, basedOn: null, content, making, metadata };
  return sendDirectly(deps, draft, cause);
}

export type ReplyRequest = SubmittedLetter & {
  workspaceId: string;
  threadId: string;
  /** Message to answer; null: the thread's newest message at the time of the call. */
  basedOnMessageId: string | null;
  cc: string[];
  bcc: string[];
  replyAll: boolean;
};

/**
 * Answers on a thread; recipients and headers are derived from the answered message. If the caller named no message and a newer one arrives
 * meanwhile, the newer one is answered; otherwise a newer message causes Rejected stale_draft. Also throws Rejected not_found naming the
 * field, loop_guarded, and any refusal of a send.
 */
export async function replyEmail(deps: Dependencies, request: ReplyRequest, cause: Cause): Promise<DirectlySent> {
  const { workspaceId } = request;
  const thread = await threadById(deps.reads, workspaceId, request.threadId);
  if (!thread) throw notFound("thread_id", "thread");
  const named = await namedMessage(deps, request, thread);
  const answered = named ?? (await newest(deps, thread));
  try {
    return await answer(deps, { request, thread, message: answered, draftId: newId(deps, cause, "draft") }, cause);
  } catch (error) {
    if (named || !(error instanceof Rejected) || error.code !== "stale_draft") throw error;
    const newer = await newest(deps, thread);
    // The caller meant the sender of the last message. If another person wrote meanwhile, that person must not receive the reply.
    if (senderOf(newer.mail).toLowerCase() !== senderOf(answered.mail).toLowerCase()) throw error;
    return answer(deps, { request, thread, message: newer, draftId: newId(deps, cause, "draft-again") }, cause);
  }
}

/** A mail to be answered, and its place in the log. */
type ToAnswer = { mail: FiledMail; answers: MessagePlace };

const senderOf = ({ from }: FiledMail): string => from?.address ?? "";

/** Answers `message`, which was received on the thread, with the given draft id. */
async function answer(
  deps: Dependencies,
  {
    request,
    thread,
    message: { mail, answers },
    draftId,
  }: { request: ReplyRequest; thread: ThreadRow; message: ToAnswer; draftId: string },
  cause: Cause,
): Promise<DirectlySent> {
  const resumed = await resumeSend(deps, draftId, cause);
  if (resumed) return resumed;
  const { workspaceId, replyAll } = request;
  const { identity_id: identityId } = thread;
  const { state: identity } = await deps.identities.load(identityId);
  const answering = { mail, identity };
  const to = replyTo(answering);
  const given = { to, cc: request.cc, bcc: request.bcc };
  const { cc, leftOut } = replyAll
    ? await replyToAll(deps, answering, given)
    : { cc: given.cc, leftOut: { hosted: [], forwarders: [] } };
  const recipients = { ...given, cc };
  requireUsableRecipients(recipients);
  requireOtherRecipients(recipients, identity, field);
  requireFewCopies(recipients);
  const machine = machineAddresses(mail, to);
  const { state: current, threadId } = await loadThread(deps, thread.id);
  requireNoLoop(current, { draftId, ...machine });
  await requireDirectSend(deps, { workspaceId, identityId, identity }, cause);
  // This check is the last one that may refuse the mail, because it stores the attachments.
  const { making, ...letter } = await composeLetter(deps, request);
  const content: DraftContent = {
    ...(await identityParts(deps, { identity, letter })),
    ...recipients,
    subject: thread.subject,
    ...answerHeaders({ messageId: mail.rfcMessageId, references: mail.references }),
    ...letter,
  };
  const { messageId, number, receivedAt } = mail;
  const basedOn = { messageId, number, receivedAt, answers };
  const draft = { draftId, workspaceId, threadId, identityId, basedOn, content, making, metadata: null, ...machine };
  return { ...(await sendDirectly(deps, { kind: "reply", ...draft }, cause)), warnings: leftOutWarnings(leftOut) };
}

const field = "based_on_message_id";

/** Returns the message that the caller names. It must be an inbound message of this thread. */
async function namedMessage(
  deps: Dependencies,
  { workspaceId, basedOnMessageId }: ReplyRequest,
  thread: ThreadRow,
): Promise<ToAnswer | undefined> {
  if (basedOnMessageId === null) return undefined;
  const message = await toAnswer(deps, workspaceId, basedOnMessageId);
  if (!message) throw notFound(field, "message");
  if (message === "ours" || !(await isOf(deps, thread, message))) {
    throw invalidRequest(field, "expected an inbound message of the thread");
  }
  return message;
}

async function isOf(deps: Dependencies, thread: ThreadRow, { answers }: ToAnswer): Promise<boolean> {
  const [asked, answered] = await Promise.all([loadThread(deps, thread.id), loadThread(deps, answers.threadId)]);
  return asked.threadId === answered.threadId;
}

/** Loads a message to answer. Read models say where it is in the log; its content is read from the log. */
async function toAnswer(
  deps: Dependencies,
  workspaceId: string,
  messageId: string,
): Promise<ToAnswer | "ours" | undefined> {
  const answers = await positionOfMessage(deps.reads, workspaceId, messageId);
  if (answers === null) return "ours";
  const mail = answers && (await readFiledMail(deps, answers, { workspaceId, messageId }));
  return mail && { mail, answers };
}

/** Returns the newest inbound message of a thread now. A person's message takes precedence over automatic mail. */
async function newest(deps: Dependencies, thread: ThreadRow): Promise<ToAnswer> {
  await waitUntilFiled(deps, thread.identity_id);
  const { position, threadId } = await loadThread(deps, thread.id);
  await requireProjected(deps, position, ["messages"]);
  const newestOne = await newestInbound(deps.reads, thread.workspace_id, threadId);
  const message = newestOne && (await toAnswer(deps, thread.workspace_id, newestOne.id));
  if (message && message !== "ours") return message;
  throw invalidRequest("thread_id", "this thread has no inbound message to reply to: use POST /v1/emails/send");
}

/** Throws Rejected not_found naming the field if this workspace has no such identity. */
export async function loadIdentity(deps: Dependencies, workspaceId: string, identityId: string): Promise<Identity> {
  const { state } = await deps.identities.load(identityId);
  if (state.exists && !state.deleted && state.workspaceId === workspaceId) return state;
  throw notFound("identity_id", "identity");
}
