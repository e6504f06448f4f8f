import type { NoticeWords } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { activeOwners } from "#src/commands/members/members.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { isOldNews } from "./oldNews.ts";
import type { ProcessContext, Timer } from "./process.ts";
import { type MemberMail, retryMemberMail, sendMemberMail } from "./sendMemberMail.ts";

type MailedNews = { mail: MemberMail; happenedAt: string };

/** `eventId`: makes each mail once. `happenedAt`: ISO 8601. `except`: id of the user who needs not be told. */
type OwnerNews = { workspaceId: string; eventId: string; happenedAt: string; words: NoticeWords; except?: string };

/** Mails news to the owners of a workspace. A process that uses it has the workspace as its key, and hands its timers on. */
export function createOwnerNews(deps: Dependencies, provider: MailProvider) {
  async function mailNow(news: MailedNews, tries: number, context: ProcessContext): Promise<void> {
    const { mail, happenedAt } = news;
    if (isOldNews(deps, happenedAt)) return;
    const outcome = await sendMemberMail(deps, provider, mail);
    const name = `${mail.eventId} ${mail.to}`;
    await retryMemberMail(outcome, { key: mail.workspaceId, name, tries, payload: { news } }, context);
  }

  return {
    /** Mails every owner, each once. */
    async tell({ workspaceId, eventId, happenedAt, words, except }: OwnerNews, context: ProcessContext): Promise<void> {
      for (const owner of await activeOwners(deps, workspaceId)) {
        if (owner.userId === except) continue;
        await mailNow({ mail: { workspaceId, eventId, to: owner.email, ...words }, happenedAt }, 0, context);
      }
    },
    onTimer: ({ payload }: Timer, context: ProcessContext) =>
      mailNow(payload.news as MailedNews, payload.tries as number, context),
  };
}
