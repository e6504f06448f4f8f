import { unlinked } from "#src/channels/email/excerpt.ts";
import { type NoticeWords, renderNoticeMail } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import type { NoticeKind } from "#src/commands/serviceMail/noticeQuota.ts";
import { sendNotice } from "#src/commands/serviceMail/sendNotice.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { Recorded } from "#streams/event.ts";
import { retryAfterMs } from "./notificationRetries.ts";
import { isOldNews } from "./oldNews.ts";
import type { ProcessContext, Timer } from "./process.ts";

/** A mail to one approver about one event. `text`: paragraphs separated by an empty line. */
export type ApproverNews = {
  /**
   * Default: outcome. Mail about loosened approval settings is sent with this kind too, so that neither quota nor a pause withholds it from
   * approvers who lose their control.
   */
  kind?: NoticeKind;
  identityId: string;
  threadId: string;
  eventId: string;
  happenedAt?: string;
  to: string;
  /** Fixed text, without anything that a tenant or a customer wrote. */
  subject: string;
  text: string;
  /** The draft whose page the mail links to; the page asks for a sign-in. */
  draftId?: string;
};

/** Returns the id and time of an event for `ApproverNews`. */
export const newsSource = ({ id, metadata }: Recorded) => ({ eventId: id, happenedAt: metadata.at });

/** Mails news to approvers, with a few retries. Repeated news have the same Message-ID. Events older than a day are not mailed. */
export function createApproverNews(deps: Dependencies, provider: MailProvider) {
  async function tell(news: ApproverNews, { timers }: ProcessContext, tries = 0): Promise<void> {
    const { kind = "outcome", identityId, threadId, eventId, happenedAt, to, subject } = news;
    if (isOldNews(deps, happenedAt)) return;
    const origin = { identityId, threadId, attemptId: derivedId("notice", eventId, to) };
    // The text quotes names, reasons and subjects by others: the only link is the button's.
    const paragraphs = unlinked(news.text).split("\n\n");
    const bodies = renderNoticeMail({ subject, paragraphs, ...linkTo(deps, news.draftId) });
    const { workspaceId } = (await deps.identities.load(identityId)).state;
    const outcome = await sendNotice(deps, provider, { kind, workspaceId, origin, to, subject, ...bodies });
    if (outcome.sent || !outcome.again) return;
    const waits = outcome.inMs !== undefined;
    const inMs = outcome.inMs ?? retryAfterMs(tries);
    if (inMs === undefined) return;
    const payload = { news, tries: waits ? tries : tries + 1 };
    await timers.set({ key: identityId, name: origin.attemptId, inMs, payload });
  }
  return {
    tell,
    onTimer: ({ payload }: Timer, context: ProcessContext) =>
      tell(payload.news as ApproverNews, context, payload.tries as number),
  };
}

/** The button that opens a draft's page. The link decides nothing and holds no token. */
function linkTo({ settings }: Dependencies, draftId: string | undefined): Pick<NoticeWords, "button" | "facts"> {
  if (draftId === undefined) return {};
  const button = { label: "Open the draft", url: `${settings.publicUrl}/drafts/${draftId}` };
  return { button, facts: ["The page opens for members of the workspace, after they sign in."] };
}
