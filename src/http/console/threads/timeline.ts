import type { HeldRow } from "#projections/messages/queries.ts";
import type { WireDraft } from "../../present/drafts.ts";
import type { MessageView } from "./messageView.ts";

/** An entry of a conversation, by its time (ISO). */
export type TimelineEntry =
  | { kind: "message"; at: string; view: MessageView }
  | { kind: "draft"; at: string; draft: WireDraft }
  | { kind: "held"; at: string; held: HeldRow };

/** Part of a conversation: after `from` (null: from the beginning), up to `until` (null: to the end). ISO times. */
export type TimelineSpan = { from: string | null; until: string | null };

/** Drafts in these statuses are shown as messages. */
const becameMessages: readonly WireDraft["status"][] = ["sending", "sent", "failed"];

/** Messages, drafts and held mail in order of time: the messages of the page, and the drafts and held mail of its span. */
export function timeline(
  {
    messages,
    drafts,
    held,
  }: { messages: readonly MessageView[]; drafts: readonly WireDraft[]; held: readonly HeldRow[] },
  { from, until }: TimelineSpan,
): TimelineEntry[] {
  const isWithin = ({ at }: TimelineEntry): boolean => (from === null || at >= from) && (until === null || at < until);
  const beside: TimelineEntry[] = [
    ...drafts
      .filter(({ status }) => !becameMessages.includes(status))
      .map((draft): TimelineEntry => ({ kind: "draft", at: draft.created_at, draft })),
    ...held.map((each): TimelineEntry => ({ kind: "held", at: each.received_at.toISOString(), held: each })),
  ];
  const entries: TimelineEntry[] = messages.map((view) => ({ kind: "message", at: view.message.created_at, view }));
  // Entries of equal time keep this order: a draft follows the message it answers.
  return [...entries, ...beside.filter(isWithin)].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}
