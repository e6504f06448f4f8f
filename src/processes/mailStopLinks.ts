import { renderNoticeMail } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { sendNotice } from "#src/commands/serviceMail/sendNotice.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { noThread } from "#src/mail/out/messageIds.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { ServiceMailEvent } from "#streams/serviceMail/events.ts";
import { isOldNews } from "./oldNews.ts";
import type { Process } from "./process.ts";

/**
 * Mails a new unsubscribe link, in the footer that all notification mail has, to the mailbox of an old link. Tried once, because a person
 * who gets no mail can request it again.
 */
export function mailStopLinks(deps: Dependencies, provider: MailProvider): Process {
  async function onRequested(event: Recorded): Promise<void> {
    if (isOldNews(deps, event.metadata.at)) return;
    const { workspaceId, address: to } = event.data as ServiceMailEvent["data"];
    const origin = { identityId: workspaceId, threadId: noThread, attemptId: derivedId("notice", event.id, to) };
    const notice = { kind: "stop_link", workspaceId, origin, to, subject } as const;
    await sendNotice(deps, provider, { ...notice, ...renderNoticeMail({ subject, paragraphs: [text] }) });
  }

  return {
    name: "mailStopLinks",
    begins: "now",
    onlyNews: true,
    categories: ["serviceMail"],
    keyOf: (event) => idOf(event.stream),
    on: { StopLinkRequested: onRequested },
  };
}

const subject = "A new link to stop or resume mail";

const text =
  "Someone opened an old link that stops or resumes mail to you, and asked for a new one. It is below. If that was not you, ignore this mail.";
