import { counted } from "#src/html/counted.ts";
import { visibleLine } from "#src/html/visible.ts";
import type { WireDraft } from "../../present/drafts.ts";
import type { WireMessage } from "../../present/messages.ts";
import type { WireThread } from "../../present/threads.ts";
import { createFence, untrustedLine } from "../fence.ts";
import type { ToolCall, ToolResult } from "../tool.ts";
import { ago } from "./ago.ts";
import { briefText, decisionWords, draftData, draftText, withText } from "./draft.ts";
import { earlierTexts } from "./letter.ts";
import { type MessageShown, messageData, messageText, shownMessage } from "./message.ts";

export type ThreadParts = {
  thread: WireThread & { messages_total: number };
  /** Oldest first. */
  messages: readonly WireMessage[];
  /** Newest first. */
  drafts: readonly WireDraft[];
  /** Number of newer messages that are omitted. */
  skip: number;
  newestMessageId: string | null;
  now: Date;
};

/** Maximum number of characters of the newest message, of each older one and of all together; and the minimum of each. */
const [ofNewest, ofOlder, ofAll, least] = [6_000, 2_000, 12_000, 300];
const maxDrafts = 3;

/** The result for a thread. */
export async function threadResult(call: ToolCall, parts: ThreadParts): Promise<ToolResult> {
  const { thread, drafts, skip, newestMessageId, now } = parts;
  const fence = createFence();
  const shown = shownMessages(parts.messages);
  const older = thread.messages_total - skip - shown.length;
  const first = older + 1;
  // A sent draft is already shown as a message.
  const isMessage = new Set(shown.map(({ message }) => message.draft_id));
  const others = drafts.filter(({ id }) => !isMessage.has(id));
  const newestDrafts = await Promise.all(
    (skip === 0 ? others.slice(0, maxDrafts) : []).map((draft) => withText(call, draft)),
  );
  const decisionOf = ({ message }: MessageShown): string => {
    const draft = message.draft_id === null ? undefined : drafts.find(({ id }) => id === message.draft_id);
    return draft ? decisionWords(draft, now) : "";
  };
  const text = [
    `Thread thread_id ${thread.id}: ${thread.status}${thread.needs_review ? ", needs review" : ""}, ${counted(thread.messages_total, "message")}, the newest ${ago(thread.last_message_at, now)}.`,
    answering(thread, newestMessageId),
    fence({ what: "subject of the thread", fields: { Subject: untrustedLine(thread.subject, 200) } }),
    ...(older > 0
      ? [`(${counted(older, "older message")}: call read_thread with skip_messages ${skip + shown.length}.)`]
      : []),
    ...shown.map((each, index) =>
      messageText(each, {
        fence,
        now,
        place: `Message ${first + index} of ${thread.messages_total}`,
        decision: decisionOf(each),
      }),
    ),
    ...newestDrafts.map((draft) => draftText(draft, { fence, now, most: briefText })),
    ...(others.length > newestDrafts.length ? [`(${others.length - newestDrafts.length} more drafts.)`] : []),
  ].join("\n");
  return {
    text,
    structured: {
      thread_id: thread.id,
      identity_id: thread.identity_id,
      status: thread.status,
      needs_review: thread.needs_review,
      messages_total: thread.messages_total,
      older_messages: Math.max(0, older),
      newest_message_id: newestMessageId,
      last_message_at: thread.last_message_at,
      untrusted: { subject: untrustedLine(visibleLine(thread.subject), 200) },
      messages: shown.map(messageData),
      drafts: newestDrafts.map((draft) => draftData(draft, { now, most: briefText })),
      drafts_total: drafts.length,
    },
  };
}

const answering = (thread: WireThread, newestMessageId: string | null): string =>
  newestMessageId === null
    ? "It has no received message yet."
    : `To answer it: submit_draft with thread_id ${thread.id}, identity_id ${thread.identity_id}, based_on_message_id ${newestMessageId} (newest_message_id).`;

/** Selects and shortens messages: the newest may have the most characters, and older ones may use those that it leaves free. */
function shownMessages(messages: readonly WireMessage[]): MessageShown[] {
  const byId = new Map(messages.map((message) => [message.rfc_message_id, message]));
  const texts = earlierTexts(messages);
  let left = ofAll;
  return [...messages]
    .reverse()
    .map((message, age) => {
      const most = Math.max(least, Math.min(age === 0 ? ofNewest : ofOlder, left));
      const answered = message.in_reply_to === null ? undefined : byId.get(message.in_reply_to);
      const shown = shownMessage(message, { answered, earlier: texts.slice(age + 1), most });
      left -= shown.piece.text.length;
      return shown;
    })
    .reverse();
}
