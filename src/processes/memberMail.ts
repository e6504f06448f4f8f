import { unlinked } from "#src/channels/email/excerpt.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { type NoticeOutcome, sendNotice } from "#src/commands/serviceMail/sendNotice.ts";
import { html } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { noThread } from "#src/mail/out/messageIds.ts";
import { reachAgainAfter } from "./peopleRetries.ts";
import type { ProcessContext } from "./process.ts";

/** One mail about the members of a workspace. `eventId`: what it is about, and which try of it; the same has the same Message-ID. */
export type MemberMail = {
  workspaceId: string;
  eventId: string;
  to: string;
  subject: string;
  text: string;
  link?: string;
};

/** Sends it now. `text`: paragraphs, with an empty line between them; `link` follows them, on a line of its own. */
export function sendMemberMail(deps: Dependencies, provider: MailProvider, mail: MemberMail): Promise<NoticeOutcome> {
  const { workspaceId, eventId, to, subject, text, link } = mail;
  const paragraphs = text.split("\n\n").map((paragraph) => html`<p>${paragraph}</p>\n`);
  // The origin of a mail names an identity; this one is the workspace's own.
  const origin = { identityId: workspaceId, threadId: noThread, attemptId: derivedId("notice", eventId, to) };
  return sendNotice(deps, provider, {
    ...{ kind: "members", workspaceId, origin, to, subject },
    text: link === undefined ? text : `${text}\n\n${link}`,
    html: html`${paragraphs}${link !== undefined && html`<p><a href="${link}">${link}</a></p>\n`}`.toString(),
  });
}

/** What becomes of a mail that did not leave: it is tried again a few times, and waits for room as long as it takes. */
export async function tryAgain(
  outcome: NoticeOutcome,
  { key, name, tries, payload }: { key: string; name: string; tries: number; payload: Record<string, unknown> },
  { timers }: Pick<ProcessContext, "timers">,
): Promise<void> {
  if (outcome.sent || !outcome.again) return;
  const waits = outcome.inMs !== undefined;
  const inMs = outcome.inMs ?? reachAgainAfter(tries);
  if (inMs !== undefined)
    await timers.set({ key, name, inMs, payload: { ...payload, tries: waits ? tries : tries + 1 } });
}

/** A name that somebody chose, inside our words: short, on one line, and nothing to press in it. */
export const quoted = (name: string): string => `“${unlinked(shortLine(name, 80))}”`;
