import type { MailProvider } from "#src/mail/mailProvider.ts";
import { withFooter } from "#src/mail/out/footer.ts";
import type { MailOrigin } from "#src/mail/out/messageIds.ts";
import { renderNotice } from "#src/mail/out/render.ts";
import type { Dependencies } from "../dependencies.ts";
import { PausedByOperator } from "../installation.ts";
import { type NoticeKind, type NotSent, returnNoticeQuota, takeNoticeQuota, whyNoticeWithheld } from "./noticeQuota.ts";
import { newUnsubscribeToken } from "./unsubscribes.ts";

/** A notification mail and the workspace it is sent for. The same origin gives the same Message-ID. */
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
 * Result of sending; if not sent, the reason. `again`: a later try may succeed. With `inMs` it waits only for notification quota,
 * available after that many milliseconds: such a wait is no failed try.
 */
export type NoticeOutcome = { sent: true } | NotSent;

/**
 * Sends a notification mail now, with its unsubscribe link. All notification mail is sent here. Nothing is sent to an address that
 * unsubscribed, above the quota of its kind, or, while the workspace has paused sending, that is neither an approval request nor an
 * outcome. Unsent mail is not counted. Throws PausedByOperator while all sending is paused; unsubscription and pauses are checked once
 * more right before the first byte of content.
 */
export async function sendNotice(
  deps: Dependencies,
  provider: MailProvider,
  notice: ServiceNotice,
): Promise<NoticeOutcome> {
  const { attemptId } = notice.origin;
  // An approval request has its quota already, and its attempts are never repeated.
  const isOwn = notice.kind === "approval";
  const notNow = await whyNoticeWithheld(deps, notice);
  if (notNow && isOwn) await returnNoticeQuota(deps, attemptId);
  if (notNow) return notNow;
  const place = await takeNoticeQuota(deps, { ...notice, attemptId }).catch((error: Error) => failed(error.message));
  if (place && "sent" in place) return place;
  const { outcome, mayHaveLeft } = await handOver(deps, provider, notice);
  // A repetition keeps the quota of the first try, which may have been sent.
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
