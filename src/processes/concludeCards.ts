import { insteadOfExpired } from "#src/channels/approvalView.ts";
import type { Channels } from "#src/channels/channel.ts";
import { concludeCard } from "#src/commands/approvals/concludeCard.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { draftEvents } from "#src/commands/drafts/draftHistories.ts";
import { readEvents } from "#src/eventStore/eventStore.ts";
import { readableTime } from "#src/html/times.ts";
import { type DeliveryEvent, deliveryStream } from "#streams/delivery/events.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { conclusionOf } from "./conclusions.ts";
import { lostInWords } from "./followBounces.ts";
import { retryAfterMs } from "./notificationRetries.ts";
import { isOldNews } from "./oldNews.ts";
import type { Process, ProcessContext } from "./process.ts";

type KnownDraft = { draftId: string; draft: Draft };
type ChatCard = { draftId: string; notificationId: string; happenedAt: string; tries: number };

/**
 * Replaces the buttons of an approval request in a chat, once they cannot decide any more, with a text that says who decided, when and
 * where, and how the draft ended, or that the request has expired. Also edits a card that reaches the chat after the decision. The draft's
 * history says which cards an event changes. The text is written at the moment of sending, so that a late retry never overwrites newer text
 * with older.
 */
export function concludeCards(deps: Dependencies, channels: Channels): Process {
  /** A report that a mail did not reach a recipient follows the card's last sentence. */
  async function onLost(event: Recorded, context: ProcessContext): Promise<void> {
    const draftId = event.data.draftId as string;
    const { state: draft } = await deps.drafts.load(draftId);
    const happenedAt = event.metadata.at;
    for (const notificationId of Object.keys(draft.notified.messages))
      await conclude({ draftId, notificationId, happenedAt, tries: 0 }, context);
  }

  async function onEvent(event: Recorded<DraftEvent>, context: ProcessContext): Promise<void> {
    const draftId = idOf(event.stream);
    const { state: draft } = await deps.drafts.load(draftId);
    const cards = Object.keys(draft.notified.messages);
    if (cards.length === 0) return;
    if (event.type === "ApproversNotified")
      await concludeAtExpiry(event.data.notificationId, { draftId, draft }, context);
    const history = await draftEvents(deps, draftId);
    const happenedAt = event.metadata.at;
    for (const notificationId of cards) {
      const is = conclusionOf(notificationId, history.slice(0, event.revision + 1));
      const was = isIts(event, notificationId) ? null : conclusionOf(notificationId, history.slice(0, event.revision));
      if (is !== null && is !== was) await conclude({ draftId, notificationId, happenedAt, tries: 0 }, context);
    }
  }

  /** A conclusion before that time cancels this timer. */
  function concludeAtExpiry(notificationId: string, { draftId, draft }: KnownDraft, { timers }: ProcessContext) {
    const { expiresAt } = draft.notified.open[notificationId]!;
    const payload = { notificationId, happenedAt: expiresAt, tries: 0 };
    return timers.set({ key: draftId, name: timerOf(notificationId), dueAt: new Date(expiresAt), payload });
  }

  /** Returns what an expired card says; null while its buttons can decide. */
  const expiredAt = (expiresAt: string): string | null =>
    Date.parse(expiresAt) <= deps.clock.now().getTime()
      ? `These buttons have expired, ${readableTime(expiresAt)}. Nothing was decided. ${insteadOfExpired}`
      : null;

  async function conclude(card: ChatCard, { timers }: ProcessContext): Promise<void> {
    const { draftId, notificationId, happenedAt, tries } = card;
    if (isOldNews(deps, happenedAt)) return;
    const { state: draft } = await deps.drafts.load(draftId);
    const outcome = conclusionOf(notificationId, await draftEvents(deps, draftId));
    const conclusion = outcome ?? expiredAt(draft.notified.open[notificationId]!.expiresAt);
    if (conclusion === null) return;
    const sentence = [conclusion, ...(await lostInSentences(deps, draft))].join(" ");
    const answer = await concludeCard(deps, channels, { draft, notificationId, sentence });
    const name = timerOf(notificationId);
    const inMs = answer?.reached === false && answer.again ? (answer.inMs ?? retryAfterMs(tries)) : undefined;
    if (inMs === undefined) return timers.cancel(draftId, name);
    await timers.set({ key: draftId, name, inMs, payload: { notificationId, happenedAt, tries: tries + 1 } });
  }

  return {
    name: "concludeCards",
    begins: "now",
    onlyNews: true,
    categories: ["draft", "delivery"],
    keyOf: ({ stream, data }) => (data.draftId as string | undefined) ?? idOf(stream),
    // If no identity ever used a chat channel, there are no cards.
    concerns: ({ type, data }, { furtherChannels }) =>
      furtherChannels && (type !== "ApproversNotified" || data.message !== undefined),
    on: {
      ...Object.fromEntries(telling.map((type) => [type, onEvent])),
      DeliveryBounced: onLost,
      DeliveryDropped: onLost,
    },
    onTimer: ({ key: draftId, payload }, context) => conclude({ draftId, ...payload } as ChatCard, context),
  };
}

/** Says which recipients a sent mail did not reach. */
async function lostInSentences(deps: Dependencies, draft: Draft): Promise<string[]> {
  if (draft.status !== "sent" || draft.attemptId === null) return [];
  const events = await readEvents<DeliveryEvent>(deps.store, deliveryStream(draft.attemptId));
  const lost = events.filter((event) => event.type === "DeliveryBounced" || event.type === "DeliveryDropped");
  return lost.map(({ data, metadata }) => {
    const whom = (data.recipients ?? []).map(lostInWords).join("; ");
    return `It came back${whom === "" ? "" : ` from ${whom}`}, ${readableTime(metadata.at)}.`;
  });
}

const timerOf = (notificationId: string): string => `conclude ${notificationId}`;

/** Returns true if this event recorded that the card was sent to the chat. */
const isIts = ({ type, data }: Recorded<DraftEvent>, notificationId: string): boolean =>
  type === "ApproversNotified" && data.notificationId === notificationId;

const telling: readonly DraftEvent["type"][] = [
  "ApproversNotified",
  "DraftApproved",
  "DraftRejected",
  "ChangesRequested",
  "ChangesRequestWithdrawn",
  "DraftEdited",
  "DraftReturnedToPending",
  "DraftMarkedStale",
  "SendHeld",
  "DraftQueued",
  "DraftSent",
  "DraftFailed",
  "ApprovalLinkClosed",
];
