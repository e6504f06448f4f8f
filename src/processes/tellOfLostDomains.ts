import { unlinked } from "#src/channels/email/excerpt.ts";
import type { NoticeWords } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { readEvents } from "#src/eventStore/eventStore.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { type DomainEvent, domainRecords } from "#streams/domain/events.ts";
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
    const reasons = await reasonsOf(event);
    const failure = { domain: quoteName(mailDomain), where, because: event.data.because, reasons };
    const words = { ...letters[event.type](failure), button };
    await tell({ workspaceId, eventId: event.id, happenedAt: event.metadata.at, words }, context);
  }

  /** Returns the paragraph that says what the check found in place of each wrong record, one line for each. The check is in the same append, right before. */
  async function reasonsOf({ stream, revision }: Recorded): Promise<string[]> {
    const [check] = await readEvents<DomainEvent>(deps.store, stream, { from: Math.max(0, revision - 1), count: 1 });
    if (check?.type !== "DomainChecked") return [];
    const { records } = check.data;
    const lines = domainRecords
      .filter((record) => records[record].status === "failed")
      .map((record) => `${record}: ${unlinked(shortLine(records[record].reason ?? "missing", mostReason))}`);
    return [lines.join("\n")];
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

type Failure = { domain: string; where: string; because: string; reasons: string[] };

/** Maximum number of characters of what was found in DNS in place of a record. */
const mostReason = 300;

/** The letters name the records, and what was found in DNS instead, which others write: no part of it becomes a link. */
const letters: Record<News["type"], (failure: Failure) => NoticeWords> = {
  DomainFailing: ({ domain, where, because, reasons }) => ({
    subject: `DNS records of ${domain} are missing or different`,
    paragraphs: [
      `The domain ${where} is still verified, but a check of its DNS records failed: ${because}.`,
      ...reasons,
      "If two more checks fail, each at least six hours after the one before, the domain is no longer verified, and no mail is sent from its addresses.",
    ],
  }),
  DomainLost: ({ domain, where, because, reasons }) => ({
    subject: `${domain} is no longer verified`,
    paragraphs: [
      `The domain ${where} is no longer verified: ${because}. No mail is sent from its addresses.`,
      ...reasons,
      "Correct the DNS records, then press “Check now” on the page of the domain: they are not checked automatically any more.",
    ],
  }),
};
