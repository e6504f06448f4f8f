import { isMachines } from "../inbox/words.ts";
import type { HeldMessage, InboundMessage, NewestWord, NotedDraft, SendClaim, ThreadEvent } from "./events.ts";
import type { Thread } from "./thread.ts";

/** Mail arriving on a thread, and threads becoming one. Carried out from filing decisions, possibly more than once. */
export type ThreadFiling =
  | {
      type: "FileMessage";
      message: InboundMessage;
      /** If the mail opens the thread. */
      opens: Extract<ThreadEvent, { type: "ThreadOpened" }>["data"] | null;
      reviewReason: string | null;
    }
  | {
      type: "HoldMessage";
      held: Omit<HeldMessage, "opensThread">;
      opens: Extract<ThreadEvent, { type: "ThreadOpened" }>["data"] | null;
    }
  | { type: "FreezeThread"; survivorId: string; number: number }
  | {
      type: "AbsorbThread";
      absorbedId: string;
      number: number;
      newestNumber: number;
      newestWord: NewestWord | null;
      participants: readonly string[];
      drafts: Readonly<Record<string, NotedDraft>>;
      claims: SendClaim[];
      needsReview: boolean;
      unauthenticated: readonly number[];
      machineAnswers?: Readonly<Record<string, readonly string[]>>;
    };

/** So many fit into the event of a merge; a thread that has more of them waiting is somebody's flood. */
const maxUnauthenticated = 10_000;

export function fileMessage(command: Extract<ThreadFiling, { type: "FileMessage" }>, thread: Thread): ThreadEvent[] {
  const { message, opens } = command;
  // A filer that was suspended, or a repetition: what it brings is already recorded here.
  if (message.number <= thread.newestNumber) return [];
  const events: ThreadEvent[] = [];
  if (!thread.exists && opens) events.push({ type: "ThreadOpened", data: opens });
  events.push({ type: "MessageReceived", data: message });
  if (message.fromBlockedContact) return events;
  const automatic = isMachines(message.classification);
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

export function absorb(command: Extract<ThreadFiling, { type: "AbsorbThread" }>, thread: Thread): ThreadEvent[] {
  if (thread.absorbed.includes(command.absorbedId)) return [];
  const { type: _, participants, drafts, unauthenticated, machineAnswers = {}, ...rest } = command;
  const answered = Object.fromEntries(Object.entries(machineAnswers).map(([draft, to]) => [draft, [...to]]));
  const lists = {
    participants: [...participants],
    drafts: { ...drafts },
    unauthenticated: unauthenticated.slice(-maxUnauthenticated),
    ...(Object.keys(answered).length > 0 && { machineAnswers: answered }),
  };
  const events: ThreadEvent[] = [{ type: "ThreadAbsorbed", data: { ...rest, ...lists } }];
  if (command.needsReview && !thread.needsReview) {
    events.push({ type: "ThreadReviewSet", data: { needsReview: true, reason: "the merged thread needed review" } });
  }
  const pending = Object.values(drafts).some((draft) => draft.status === "pending");
  if (pending && thread.status !== "draft_pending") {
    events.push({ type: "ThreadStatusChanged", data: { status: "draft_pending", because: "merged" } });
  }
  return events;
}
