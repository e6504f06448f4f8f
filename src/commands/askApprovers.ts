import { renderApprovalMail } from "#src/channels/email/renderApprovalMail.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { type Asked, type Decision, draftStream } from "#streams/draft/events.ts";
import { identityDecider } from "#streams/identity/decider.ts";
import { type ApprovalChannel, identityStream } from "#streams/identity/events.ts";
import { hashToken } from "./approvals.ts";
import { approvalView } from "./approvalViews.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";
import { sendNotice } from "./notices.ts";

const tokenBytes = 32;

/**
 * Shows a pending draft to its approvers through the identity's channel. That they are asked, and by which tokens, is recorded before
 * anything leaves; a second try uses tokens of its own. True where they were reached, or nobody is to be asked.
 */
export async function askApprovers(
  deps: Dependencies,
  provider: MailProvider,
  draftId: string,
  draft: Draft,
  lastTry: boolean,
  cause: Cause,
): Promise<boolean> {
  const { state: identity } = await deps.load(identityDecider, identityStream(draft.identityId));
  const channel = identity.approvalChannel;
  if (!channel || identity.deleted) return true;
  const notificationId = deps.ids.uuid();
  const tokens = { approve: newToken(deps), reject: newToken(deps) };
  const expiresAt = new Date(deps.clock.now().getTime() + deps.settings.approvalLinkHours * 3_600_000).toISOString();
  const asked: Asked = {
    notificationId,
    causedBy: cause.causationId,
    version: draft.version,
    contentSha256: draft.contentSha256,
    channel: { slot: "primary", type: channel.type, address: channel.config.to ?? null },
    tokens: (["approve", "reject"] as const).map((decision) => ({ sha256: hashToken(tokens[decision]), decision })),
    expiresAt,
  };
  const stream = draftStream(draftId);
  const recorded = await deps.handle(draftDecider, stream, { type: "AskApprovers", asked }, cause);
  // Decided or edited meanwhile: nobody is to be asked about this version any more.
  if (!recorded.changed) return true;
  const error = await deliver(deps, provider, draftId, draft, channel, tokens, expiresAt);
  if (error === null) {
    await deps.handle(draftDecider, stream, { type: "RecordNotified", notificationId }, cause);
    return true;
  }
  const failed = { type: "RecordNotificationFailed", notificationId, error, final: lastTry } as const;
  await deps.handle(draftDecider, stream, failed, cause);
  return false;
}

const newToken = (deps: Dependencies): string => deps.ids.random(tokenBytes).toString("base64url");

/** Null where the channel took it, else why not, in words. */
async function deliver(
  deps: Dependencies,
  provider: MailProvider,
  draftId: string,
  draft: Draft,
  channel: ApprovalChannel,
  tokens: Record<Decision, string>,
  expiresAt: string,
): Promise<string | null> {
  if (channel.type !== "email") return `this installation cannot reach ${channel.type} channels yet`;
  const link = (decision: Decision) => `${deps.settings.publicUrl}/a/${tokens[decision]}?d=${decision}`;
  const view = await approvalView(deps, draftId, draft, draft.version, expiresAt);
  const mail = renderApprovalMail(view, { approve: link("approve"), reject: link("reject") });
  const origin = { identityId: draft.identityId, threadId: draft.threadId, attemptId: deps.ids.uuid() };
  return sendNotice(deps, provider, origin, { to: channel.config.to as string, ...mail });
}
