import { Rejected } from "../decider.ts";
import { hasEntry } from "../idMap.ts";
import { opensThread } from "../inbox/mailKinds.ts";
import type { ThreadAbsorption } from "./absorption.ts";
import type { HeldMessage, InboundMessage, ThreadEvent } from "./events.ts";
import type { Thread } from "./thread.ts";

/** Commands that file mail on a thread and merge threads. They carry out filing decisions, possibly more than once. */
export type ThreadFiling =
  | {
      type: "FileMessage";
      message: InboundMessage;
      /** Data of the new thread, if the mail opens it. */
      opens: Extract<ThreadEvent, { type: "ThreadOpened" }>["data"] | null;
      reviewReason: string | null;
    }
  | {
      type: "HoldMessage";
      held: Omit<HeldMessage, "opensThread">;
      opens: Extract<ThreadEvent, { type: "ThreadOpened" }>["data"] | null;
    }
  | { type: "FileReaction"; reaction: Extract<ThreadEvent, { type: "ReactionReceived" }>["data"] }
  /** Makes a message that is nobody's word the customer's word. `number`: its filing number; `received`: its location in the log. */
  | { type: "FileByHand"; message: Extract<ThreadEvent, { type: "MessageFiledByHand" }>["data"] }
  | { type: "FreezeThread"; survivorId: string; number: number }
  | ThreadAbsorption;

export function fileMessage(command: Extract<ThreadFiling, { type: "FileMessage" }>, thread: Thread): ThreadEvent[] {
  const { message, opens } = command;
  // From a suspended or repeated filer: its mail is already recorded.
  if (message.number <= thread.newestNumber) return [];
  if (!thread.exists && !opens) throw new Rejected("not_found", "no such thread");
  const events: ThreadEvent[] = [];
  if (!thread.exists && opens) events.push({ type: "ThreadOpened", data: opens });
  events.push({ type: "MessageReceived", data: message });
  if (message.fromBlockedContact) return events;
  if (opensThread(message)) events.push(...reopened(thread));
  const reason = reviewReason(command, thread);
  if (reason !== null && !thread.needsReview) {
    events.push({ type: "ThreadReviewSet", data: { needsReview: true, reason } });
  }
  return events;
}

/** Opens a waiting thread. */
const reopened = ({ exists, status }: Thread): ThreadEvent[] =>
  exists && status === "waiting"
    ? [{ type: "ThreadStatusChanged", data: { status: "open", because: "the customer wrote" } }]
    : [];

/** Records a reaction once. */
export const fileReaction = (
  { reaction }: Extract<ThreadFiling, { type: "FileReaction" }>,
  thread: Thread,
): ThreadEvent[] => (reaction.number <= thread.newestNumber ? [] : [{ type: "ReactionReceived", data: reaction }]);

/** Files a message by hand, once. */
export const fileByHand = (
  { message }: Extract<ThreadFiling, { type: "FileByHand" }>,
  thread: Thread,
): ThreadEvent[] =>
  hasEntry(thread.filedByHand, message.messageId)
    ? []
    : [{ type: "MessageFiledByHand", data: message }, ...reopened(thread)];

export function holdMessage(command: Extract<ThreadFiling, { type: "HoldMessage" }>, thread: Thread): ThreadEvent[] {
  const { held, opens } = command;
  if (held.number <= thread.newestNumber) return [];
  if (!thread.exists && !opens) throw new Rejected("not_found", "no such thread");
  const opensThread = !thread.exists && opens !== null;
  const marker: ThreadEvent = { type: "MessageHeld", data: { ...held, opensThread } };
  return opensThread ? [{ type: "ThreadOpened", data: opens }, marker] : [marker];
}

function reviewReason(command: Extract<ThreadFiling, { type: "FileMessage" }>, thread: Thread): string | null {
  if (command.reviewReason !== null) return command.reviewReason;
  if (!thread.exists || !opensThread(command.message)) return null;
  if (thread.status === "closed") return "new mail on a closed thread";
  // A thread that began with held mail has no participants yet.
  if (thread.participants.length === 0) return null;
  const from = command.message.from?.address.toLowerCase();
  if (from === undefined || !thread.participants.includes(from)) return "a sender who never took part in this thread";
  return null;
}
