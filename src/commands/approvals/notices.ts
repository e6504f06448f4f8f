import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { MailOrigin } from "#src/mail/out/messageIds.ts";
import { renderNotice } from "#src/mail/out/render.ts";
import type { Dependencies } from "../dependencies.ts";
import { PausedByOperator, requireNotPaused } from "../installation.ts";

/** A mail of the service's own to an approver. */
export type Notice = { to: string; subject: string; text: string; html: string };

/**
 * Sends one now. Null if the provider took it, else why not, in words. The same origin gives the same Message-ID. Throws PausedByOperator while
 * nothing may leave, which is asked once more right before the first byte of content.
 */
export async function sendNotice(
  deps: Dependencies,
  provider: MailProvider,
  { origin, ...notice }: Notice & { origin: MailOrigin },
): Promise<string | null> {
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
    const { mime, envelope } = await renderNotice({ from, ...notice, messageId, date: deps.clock.now() });
    const connection = await provider.connect();
    const outcome = await connection.handOver({ attemptId: origin.attemptId, envelope, messageId, mime }, mayWrite);
    if (paused !== undefined) throw paused;
    return outcome.kind === "accepted" ? null : outcome.message;
  } catch (error) {
    if (error instanceof PausedByOperator) throw error;
    return (error as Error).message;
  }
}
