import { Rejected } from "../decider.ts";
import type { NewestHumanMessage } from "../thread/events.ts";

/**
 * Decides whether a draft is stale: a person wrote on its thread after the message that the draft answers (streams/inbox/mailKinds.ts says
 * which mail counts; held mail does too). Newer means a higher filing number. `basedOnNumber`: that of the answered message, 0 for a draft
 * that answers none. Returns the newer message, or null while the draft is not stale.
 */
export const newerHumanMessage = (
  { newestWord }: { newestWord: NewestHumanMessage | null },
  { basedOnNumber }: { basedOnNumber: number },
): NewestHumanMessage | null => (newestWord !== null && newestWord.number > basedOnNumber ? newestWord : null);

/** Creates the rejection of a stale draft's send, by the thread at its claim and by all callers that repeat it. */
export const staleDraft = (newMessageId: string): Rejected =>
  new Rejected("stale_draft", "a newer message arrived on this thread: read it and submit a new draft", {
    new_message_id: newMessageId,
  });
