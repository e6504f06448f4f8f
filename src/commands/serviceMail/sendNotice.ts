import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { MailOrigin } from "#src/mail/out/messageIds.ts";
import { renderNotice } from "#src/mail/out/render.ts";
import type { Dependencies } from "../dependencies.ts";
import { PausedByOperator, requireNotPaused } from "../installation.ts";

/** What a mail of the service's own is for: an approval is asked for, or it is told what became of a draft; news, a test, or what a rule tells people. */
export type NoticeKind = "approval" | "outcome" | "notice" | "test" | "rule";

/** A mail of the service's own, and the workspace on whose behalf it is sent. The same origin gives the same Message-ID. */
export type Notice = {
  kind: NoticeKind;
  workspaceId: string;
  origin: MailOrigin;
  to: string;
  subject: string;
  text: string;
  html: string;
};

/**
 * Whether it left; if not, why, in words. `again`: a later try may succeed. `inMs`: it only waits for room in the service's own measure of such
 * mail, which there is after so many milliseconds: such a wait is no failed try.
 */
export type NoticeOutcome = { sent: true } | { sent: false; error: string; again: boolean; inMs?: number };

/**
 * Sends one now. Throws PausedByOperator while nothing may leave, which is asked once more right before the first byte of content.
 */
export async function sendNotice(deps: Dependencies, provider: MailProvider, notice: Notice): Promise<NoticeOutcome> {
  const { origin, to, subject, text, html } = notice;
  const address = deps.settings.approvalsFrom;
  const domain = address.slice(address.lastIndexOf("@") + 1);
  const messageId = deps.messageIds.mint({ ...origin, domain });
  let paused: unknown;
  const mayWrite = async (): Promise<boolean> => {
    paused = await requireNotPaused(deps).then(
      () => undefined,
      (error) => error,
    );
    return paused === undefined;
  };
  await requireNotPaused(deps);
  try {
    const from = { name: "Countersign", address };
    const { mime, envelope } = await renderNotice({ from, to, subject, text, html, messageId, date: deps.clock.now() });
    const connection = await provider.connect();
    const outcome = await connection.handOver({ attemptId: origin.attemptId, envelope, messageId, mime }, mayWrite);
    if (paused !== undefined) throw paused;
    return outcome.kind === "accepted" ? { sent: true } : failed(outcome.message);
  } catch (error) {
    if (error instanceof PausedByOperator) throw error;
    return failed((error as Error).message);
  }
}

const failed = (error: string): NoticeOutcome => ({ sent: false, error, again: true });
