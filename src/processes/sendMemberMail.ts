import { unlinked } from "#src/channels/email/excerpt.ts";
import { type NoticeWords, renderNoticeMail } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { type NoticeOutcome, sendNotice } from "#src/commands/serviceMail/sendNotice.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { noThread } from "#src/mail/out/messageIds.ts";
import { retryAfterMs } from "./notificationRetries.ts";
import type { ProcessContext } from "./process.ts";

/**
 * A mail about the members of a workspace. `eventId`: identifies the event and the try that the mail belongs to, and determines the
 * Message-ID.
 */
export type MemberMail = {
  workspaceId: string;
  eventId: string;
  to: string;
} & NoticeWords;

/** Sends the mail now. */
export function sendMemberMail(deps: Dependencies, provider: MailProvider, mail: MemberMail): Promise<NoticeOutcome> {
  const { workspaceId, eventId, to, subject } = mail;
  // The origin of a mail normally names an identity. This mail has none, so the workspace's id takes its place.
  const origin = { identityId: workspaceId, threadId: noThread, attemptId: derivedId("notice", eventId, to) };
  return sendNotice(deps, provider, {
    ...{ kind: "members", workspaceId, origin, to, subject },
    ...renderNoticeMail(mail),
  });
}

/** Tries an unsent mail again a few times. Waiting for quota does not count as a try. */
export async function retryMemberMail(
  outcome: NoticeOutcome,
  { key, name, tries, payload }: { key: string; name: string; tries: number; payload: Record<string, unknown> },
  { timers }: Pick<ProcessContext, "timers">,
): Promise<void> {
  if (outcome.sent || !outcome.again) return;
  const waits = outcome.inMs !== undefined;
  const inMs = outcome.inMs ?? retryAfterMs(tries);
  if (inMs !== undefined)
    await timers.set({ key, name, inMs, payload: { ...payload, tries: waits ? tries : tries + 1 } });
}

/** Quotes a name chosen by a user for use in a service mail: shortened, on one line, with nothing clickable. */
export const quoteName = (name: string): string => `“${unlinked(shortLine(name, 80))}”`;
