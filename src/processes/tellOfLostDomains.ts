import type { NoticeWords } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { DomainEvent } from "#streams/domain/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { createOwnerNews } from "./ownerNews.ts";
import type { Process, ProcessContext } from "./process.ts";
import { quoteName } from "./sendMemberMail.ts";

type News = Extract<DomainEvent, { type: "DomainFailing" | "DomainLost" }>;

/** Mails every owner when a verified domain's DNS records begin to fail, and when the domain is lost. */
export function tellOfLostDomains(deps: Dependencies, provider: MailProvider): Process {
  const { tell, onTimer } = createOwnerNews(deps, provider);

  async function onNews(event: Recorded<News>, context: ProcessContext): Promise<void> {
    const domainId = idOf(event.stream);
    const { workspaceId, mailDomain } = (await deps.domains.load(domainId)).state;
    const { name: workspace } = (await deps.workspaces.load(workspaceId)).state;
    const button = { label: "Open the domain", url: `${deps.settings.publicUrl}/domains/${domainId}` };
    const where = `${quoteName(mailDomain)} in the workspace ${quoteName(workspace)} on Countersign`;
    const words = {
      ...letters[event.type]({ domain: quoteName(mailDomain), where, because: event.data.because }),
      button,
    };
    await tell({ workspaceId, eventId: event.id, happenedAt: event.metadata.at, words }, context);
  }

  return {
    name: "tellOfLostDomains",
    begins: "now",
    onlyNews: true,
    categories: ["domain"],
    keyOf: ({ metadata }) => metadata.workspaceId as string,
    on: { DomainFailing: onNews, DomainLost: onNews },
    onTimer,
  };
}

type Failure = { domain: string; where: string; because: string };

/** The letters name the records. The console has what was found in DNS, which others write. */
const letters: Record<News["type"], (failure: Failure) => NoticeWords> = {
  DomainFailing: ({ domain, where, because }) => ({
    subject: `DNS records of ${domain} are missing or different`,
    paragraphs: [
      `The domain ${where} is still verified, but a check of its DNS records failed: ${because}.`,
      "If two more checks fail, each at least six hours after the one before, the domain is no longer verified, and no mail is sent from its addresses.",
    ],
  }),
  DomainLost: ({ domain, where, because }) => ({
    subject: `${domain} is no longer verified`,
    paragraphs: [
      `The domain ${where} is no longer verified: ${because}. No mail is sent from its addresses.`,
      "Correct the DNS records, then press “Check now” on the page of the domain: they are not checked automatically any more.",
    ],
  }),
};
