import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { sendNotice } from "#src/commands/serviceMail/sendNotice.ts";
import { html } from "#src/html/html.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { Recorded } from "#streams/event.ts";
import { isOldNews } from "./oldNews.ts";
import { reachAgainAfter } from "./peopleRetries.ts";
import type { ProcessContext, Timer } from "./process.ts";

/** One mail to one approver about one event. `text`: paragraphs, with an empty line between them. */
export type News = {
  identityId: string;
  threadId: string;
  eventId: string;
  happenedAt?: string;
  to: string;
  /** Our own words alone: nothing that a tenant or a stranger wrote. */
  subject: string;
  text: string;
};

/** The event that news are about. */
export const about = ({ id, metadata }: Recorded) => ({ eventId: id, happenedAt: metadata.at });

/** Mails news to approvers, and tries again a few times. The same news have the same Message-ID. What is older than a day is no news. */
export function createTelling(deps: Dependencies, provider: MailProvider) {
  async function tell(news: News, { timers }: ProcessContext, tries = 0): Promise<void> {
    const { identityId, threadId, eventId, happenedAt, to, subject, text } = news;
    if (isOldNews(deps, happenedAt)) return;
    const origin = { identityId, threadId, attemptId: derivedId("notice", eventId, to) };
    const body = html`${text.split("\n\n").map((paragraph) => html`<p>${paragraph}</p>\n`)}`.toString();
    const { workspaceId } = (await deps.identities.load(identityId)).state;
    // What loosens the approval of drafts counts as an outcome too: no flood of other mail and no pause keeps it from those who lose their say.
    const ours = { kind: "outcome", workspaceId, origin } as const;
    const outcome = await sendNotice(deps, provider, { ...ours, to, subject, text, html: body });
    if (outcome.sent || !outcome.again) return;
    const waits = outcome.inMs !== undefined;
    const inMs = outcome.inMs ?? reachAgainAfter(tries);
    if (inMs === undefined) return;
    const payload = { news, tries: waits ? tries : tries + 1 };
    await timers.set({ key: identityId, name: origin.attemptId, inMs, payload });
  }
  return {
    tell,
    onTimer: ({ payload }: Timer, context: ProcessContext) =>
      tell(payload.news as News, context, payload.tries as number),
  };
}
