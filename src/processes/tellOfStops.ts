import type { Dependencies } from "#src/commands/dependencies.ts";
import { identitiesNaming } from "#src/commands/serviceMail/identitiesNaming.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { noThread } from "#src/mail/out/messageIds.ts";
import { mailboxOf } from "#src/mail/out/quota/notificationQuota.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { ServiceMailEvent } from "#streams/serviceMail/events.ts";
import { createApproverNews, newsSource } from "./approverNews.ts";
import type { Process, ProcessContext, WaitForModels } from "./process.ts";

/** When an approver stops the workspace's mail to an address, mails the other approvers of the same identities, each once. */
export function tellOfStops(deps: Dependencies, provider: MailProvider): Process {
  const { tell, onTimer } = createApproverNews(deps, provider);

  async function onStopped(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    if (!(await context.reached(event.position, ["identities"])))
      return { waitFor: event.position, of: ["identities"] };
    const { workspaceId, address } = event.data as ServiceMailEvent["data"];
    const told = new Set<string>();
    for (const { identityId, others } of await identitiesNaming(deps, { workspaceId, address })) {
      for (const to of others) {
        if (told.has(mailboxOf(to))) continue;
        told.add(mailboxOf(to));
        const news = { kind: "notice", identityId, threadId: noThread, to, ...letter(address) } as const;
        await tell({ ...news, ...newsSource(event) }, context);
      }
    }
    return undefined;
  }

  return {
    name: "tellOfStops",
    begins: "now",
    onlyNews: true,
    categories: ["serviceMail"],
    keyOf: (event) => idOf(event.stream),
    on: { ServiceMailStopped: onStopped },
    onTimer,
  };
}

const letter = (address: string): { subject: string; text: string } => ({
  subject: "An approver stopped mail from your workspace",
  text: `Mail from your workspace to “${shortLine(address, 254)}” was stopped with the unsubscribe link. Requests for approval are no longer sent to that address. Its waiting drafts go to you if you are the second approver; other drafts wait.\n\nSet another address, or ask the recipient to resume the mail with the same link.`,
});
