import type { MailProvider } from "#src/mail/mailProvider.ts";
import { withFooter } from "#src/mail/out/footer.ts";
import type { MailOrigin } from "#src/mail/out/messageIds.ts";
import { renderNotice } from "#src/mail/out/render.ts";
import type { Dependencies } from "../dependencies.ts";
import { PausedByOperator } from "../installation.ts";
import { type NoticeKind, type NotSent, returnNoticeQuota, takeNoticeQuota, whyNoticeWithheld } from "./noticeQuota.ts";
import { newUnsubscribeToken } from "./unsubscribes.ts";

/** A notification mail and the workspace that sends it. Notices with the same origin get the same Message-ID. */
export type ServiceNotice = {
  kind: NoticeKind;
  workspaceId: string;
  origin: MailOrigin;
  to: string;
  subject: string;
  text: string;
  html: string;
};

/**
 * Result of sending; if not sent, the reason. `again`: true if a later try may succeed. `inMs`: set if only notification quota is missing,
 * which is available after that many milliseconds; waiting for it does not count as a failed try.
 */
export type NoticeOutcome = { sent: true } | NotSent;

/**
 * Sends a notification mail now, with its unsubscribe link. All notification mail is sent here. Not sent: mail to an address that
 * unsubscribed; mail above the quota of its kind; and, while the workspace has paused sending, anything but approval requests, outcomes,
 * mail about members and new unsubscribe links. Unsent mail does not count towards the quota. Throws PausedByOperator while all sending is
 * paused. Unsubscription and pauses are checked again right before the first byte of content.
 */
export async function sendNotice(
  deps: Dependencies,
  provider: MailProvider,
  notice: ServiceNotice,
): Promise<NoticeOutcome> {
  const { attemptId } = notice.origin;
  // The caller has already taken the quota of an approval request, and each attempt to send one has a new id.
  const isOwn = notice.kind === "approval";
  const notNow = await whyNoticeWithheld(deps, notice);
  if (notNow && isOwn) await returnNoticeQuota(deps, attemptId);
  if (notNow) return notNow;
  const place = await takeNoticeQuota(deps, { ...notice, attemptId }).catch((error: Error) => failed(error.message));
  if (place && "sent" in place) return place;
  const { outcome, mayHaveLeft } = await handOver(deps, provider, notice);
  // If this is a repetition, the quota belongs to the first try, which may have been sent, so it is not given back.
  if (!mayHaveLeft && (isOwn || place?.isNew)) await returnNoticeQuota(deps, attemptId);
  if (outcome instanceof PausedByOperator) throw outcome;
  return outcome;
}

const failed = (error: string): NotSent => ({ sent: false, error, again: true });

type NoticeHandOver = { outcome: NoticeOutcome | PausedByOperator; mayHaveLeft: boolean };

async function handOver(deps: Dependencies, provider: MailProvider, notice: ServiceNotice): Promise<NoticeHandOver> {
  const { attemptId } = notice.origin;
  let keptBack: NotSent | PausedByOperator | undefined;
  const mayWrite = async (): Promise<boolean> => {
    keptBack = await whyNoticeWithheld(deps, notice).catch((error) =>
      error instanceof PausedByOperator ? error : failed(error.message),
    );
    return keptBack === undefined;
  };
  try {
    const mail = await written(deps, notice);
    const connection = await provider.connect();
    const outcome = await connection.handOver({ attemptId, ...mail }, mayWrite);
    if (keptBack) return { outcome: keptBack, mayHaveLeft: false };
    if (outcome.kind === "accepted") return { outcome: { sent: true }, mayHaveLeft: true };
    const again = outcome.kind !== "refused" || outcome.retryable;
    return { outcome: { ...failed(outcome.message), again }, mayHaveLeft: outcome.kind === "unknown" };
  } catch (error) {
    return { outcome: failed((error as Error).message), mayHaveLeft: false };
  }
}

async function written(deps: Dependencies, notice: ServiceNotice) {
  const { origin, to, subject, workspaceId } = notice;
  const address = deps.settings.approvalsFrom;
  const messageId = deps.messageIds.mint({ ...origin, domain: address.slice(address.lastIndexOf("@") + 1) });
  const stopUrl = `${deps.settings.publicUrl}/stop/${await newUnsubscribeToken(deps, { workspaceId, address: to })}`;
  const bodies = withFooter(notice, { to, stopUrl });
  const from = { name: "Countersign", address };
  const rendered = await renderNotice({ from, to, subject, ...bodies, messageId, date: deps.clock.now() });
  return { messageId, ...rendered };
}
