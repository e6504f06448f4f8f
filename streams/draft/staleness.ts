import { Rejected } from "../decider.ts";
import type { NewestWord } from "../thread/events.ts";

/**
 * When a draft goes stale: somebody wrote on its thread after the message that the draft answers (streams/inbox/words.ts says which mail is
 * somebody's word; held mail counts too). Newer is what has a higher filing number. `basedOnNumber` is the answered message's; 0 for a draft
 * that answers none. Answers that newer word, or null while the draft is not stale.
 */
export const newerWord = (
  { newestWord }: { newestWord: NewestWord | null },
  { basedOnNumber }: { basedOnNumber: number },
): NewestWord | null => (newestWord !== null && newestWord.number > basedOnNumber ? newestWord : null);

/** How a send of a stale draft is refused, by the thread at its claim and by everybody who repeats that answer. */
export const staleDraft = (newMessageId: string): Rejected =>
  new Rejected("stale_draft", "a newer message arrived on this thread: read it and submit a new draft", {
    new_message_id: newMessageId,
  });
