import { Rejected } from "../decider.ts";
import { isFromMachine } from "../inbox/humanMail.ts";
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
  const automatic = isFromMachine(message.classification);
  if (thread.exists && thread.status === "waiting" && !automatic) {
    events.push({ type: "ThreadStatusChanged", data: { status: "open", because: "the customer wrote" } });
  }
  const reason = reviewReason(command, thread, automatic);
  if (reason !== null && !thread.needsReview) {
    events.push({ type: "ThreadReviewSet", data: { needsReview: true, reason } });
  }
  return events;
}

export function holdMessage(command: Extract<ThreadFiling, { type: "HoldMessage" }>, thread: Thread): ThreadEvent[] {
  const { held, opens } = command;
  if (held.number <= thread.newestNumber) return [];
  if (!thread.exists && !opens) throw new Rejected("not_found", "no such thread");
  const opensThread = !thread.exists && opens !== null;
  const marker: ThreadEvent = { type: "MessageHeld", data: { ...held, opensThread } };
  return opensThread ? [{ type: "ThreadOpened", data: opens }, marker] : [marker];
}

function reviewReason(
  command: Extract<ThreadFiling, { type: "FileMessage" }>,
  thread: Thread,
  automatic: boolean,
): string | null {
  if (command.reviewReason !== null) return command.reviewReason;
  if (!thread.exists || automatic) return null;
  if (thread.status === "closed") return "new mail on a closed thread";
  // A thread that began with held mail has no participants yet.
  if (thread.participants.length === 0) return null;
  const from = command.message.from?.address.toLowerCase();
  if (from === undefined || !thread.participants.includes(from)) return "a sender who never took part in this thread";
  return null;
}
