import type { Dependencies } from "#src/commands/dependencies.ts";
import { loadContent } from "#src/commands/drafts/draftContents.ts";
import { draftEvents } from "#src/commands/drafts/draftHistories.ts";
import { commandThread, loadThread } from "#src/commands/threads/threads.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { DeliveryRecipient, DeliveryReport } from "#streams/delivery/events.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { Recorded } from "#streams/event.ts";
import { createApproverNews, newsSource } from "./approverNews.ts";
import { toThoseAsked } from "./outcomeNews.ts";
import type { Process, ProcessContext } from "./process.ts";
import { mailboxesAsked } from "./tellOutcomes.ts";

/** Milliseconds until a report about a mail that is still being sent is looked at again. */
const settlingMs = 2_000;

/**
 * Asks for a review of the thread whose mail did not reach a recipient, and mails the approvers whom the news "Sent" reached: everybody who
 * was asked about the version that was sent. Chats learn it by their card (concludeCards.ts).
 */
export function followBounces(deps: Dependencies, provider: MailProvider): Process {
  const { tell, onTimer } = createApproverNews(deps, provider);

  async function onLost(event: Recorded, context: ProcessContext): Promise<{ againInMs: number } | undefined> {
    const { draftId, threadId, recipients = [] } = event.data as DeliveryReport;
    const { state: draft } = await deps.drafts.load(draftId);
    const sentence = await sentenceOf(deps, draft, recipients);
    const because = shortLine(sentence, 400);
    const review = { type: "UpdateThread", needsReview: true, because, once: `lost: ${event.id}` } as const;
    await commandThread(deps, { threadId, command: review }, context.cause);
    // The report itself settles a hand-over of which nobody knew whether it succeeded; "Sent" is told then.
    if (draft.status === "sending") return { againInMs: settlingMs };
    if (draft.status !== "sent") return undefined;
    const { versions } = toThoseAsked(await draftEvents(deps, draftId));
    const told = await mailboxesAsked(deps, draft, { versions, except: { address: null } });
    if (told.length === 0) return undefined;
    const { identityId } = draft;
    const [{ state: identity }, { state: thread }] = await Promise.all([
      deps.identities.load(identityId),
      loadThread(deps, threadId),
    ]);
    const which = `This is about the mail from ${shortLine(identity.emailAddress, 100)} on “${shortLine(thread.subject, 100)}”, version ${draft.version}, which you were asked about.`;
    const text = [sentence, "It will not be sent again automatically.", which].join("\n\n");
    const subject = "Not delivered: a mail you were asked about came back";
    for (const to of told)
      await tell({ identityId, threadId, draftId, ...newsSource(event), to, subject, text }, context);
    return undefined;
  }

  return {
    name: "followBounces",
    begins: "now",
    onlyNews: true,
    categories: ["delivery"],
    keyOf: ({ data }) => data.draftId as string,
    on: { DeliveryBounced: onLost, DeliveryDropped: onLost },
    onTimer,
  };
}

/** Says whom the mail did not reach, of how many, and why. */
async function sentenceOf(deps: Dependencies, draft: Draft, lost: readonly DeliveryRecipient[]): Promise<string> {
  const { to, cc, bcc } = await loadContent(deps.blobs, draft.stored);
  const all = to.length + cc.length + bcc.length;
  const whom = lost.map(lostInWords).join("; ");
  const which =
    all === 1
      ? "Its only recipient was not reached"
      : `${countOf(lost.length)} of its ${all} recipients ${lost.length > 1 ? "were" : "was"} not reached`;
  return `A mail came back. ${which}${whom === "" ? "" : `: ${whom}`}.`;
}

const countOf = (count: number): string => (count > 1 ? String(count) : "One");

export const lostInWords = ({ address, code, text }: DeliveryRecipient): string => {
  const why = [text ?? code ?? []].flat().map((said) => ` (${shortLine(said, 200)})`);
  return `${shortLine(address, 100)}${why.join("")}`;
};
