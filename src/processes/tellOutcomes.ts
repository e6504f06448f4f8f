import { channelOf } from "#src/commands/approvals/askApprovers.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { draftAfterEvent } from "#src/commands/drafts/draftHistories.ts";
import { loadThread } from "#src/commands/threads/threads.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { deliveredNotifications } from "#streams/draft/notification.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { createApproverNews, newsSource } from "./approverNews.ts";
import { type OutcomeNews, outcomeNews } from "./outcomeNews.ts";
import type { Process, ProcessContext } from "./process.ts";

/**
 * Mails approvers how a draft ended, unless they have seen it (table in README.md). The draft's history up to the event says who was asked
 * and who has seen the outcome.
 */
export function tellOutcomes(deps: Dependencies, provider: MailProvider): Process {
  const { tell, onTimer } = createApproverNews(deps, provider);

  async function onOutcome(event: Recorded<DraftEvent>, context: ProcessContext): Promise<void> {
    const draftId = idOf(event.stream);
    const { draft, history } = await draftAfterEvent(deps, event);
    const outcome = outcomeNews(event, history);
    if (outcome === null) return;
    const told = await mailboxesAsked(deps, draft, outcome);
    if (told.length === 0) return;
    const { identityId, threadId, version, basedOnMessageId } = draft;
    const [{ state: identity }, { state: thread }] = await Promise.all([
      deps.identities.load(identityId),
      loadThread(deps, threadId),
    ]);
    const mail = `the ${basedOnMessageId === null ? "mail" : "reply"} from ${shortLine(identity.emailAddress, 100)}`;
    const asked =
      deliveredNotifications(draft, version).length > 0
        ? "which you were asked about"
        : "which you were not asked about: it was changed after you were asked";
    const which = `This is about ${mail} on “${shortLine(thread.subject, 100)}”, version ${version}, ${asked}.`;
    const text = [...outcome.sentences, which].join("\n\n");
    for (const to of told) {
      await tell({ identityId, threadId, draftId, ...newsSource(event), to, subject: outcome.subject, text }, context);
    }
  }

  return {
    name: "tellOutcomes",
    begins: "now",
    onlyNews: true,
    categories: ["draft"],
    keyOf: (event) => idOf(event.stream),
    concerns: (event) => outcomeNews(event, []) !== null,
    on: {
      DraftSent: onOutcome,
      DraftFailed: onOutcome,
      DraftMarkedStale: onOutcome,
      DraftRejected: onOutcome,
      DraftApproved: onOutcome,
      DraftEdited: onOutcome,
    },
    onTimer,
  };
}

/**
 * Returns the mailboxes of approvers who received a request about these versions and are still approvers of the draft's identity, except
 * those who know the outcome.
 */
export async function mailboxesAsked(
  deps: Dependencies,
  draft: Draft,
  { versions, except }: Pick<OutcomeNews, "versions" | "except">,
): Promise<string[]> {
  const { state: identity } = await deps.identities.load(draft.identityId);
  const asked = versions
    .flatMap((version) => deliveredNotifications(draft, version))
    .flatMap(({ channel: { slot, type, address } }) => {
      const now = channelOf(identity, slot);
      return type === "email" && address && now?.type === type && now.config.to === address ? [address] : [];
    });
  const knows = (address: string) =>
    address.toLowerCase() === except.address?.toLowerCase() ||
    (except.primary && address === identity.approvalChannel?.config.to);
  return [...new Set(asked)].filter((address) => !knows(address));
}
