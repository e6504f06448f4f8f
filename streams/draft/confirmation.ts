import { Rejected } from "../decider.ts";
import type { Draft } from "./draft.ts";
import type { DraftEvent } from "./events.ts";
import { decideNotification, findToken, maxWrongCodes } from "./notification.ts";

/**
 * A press on an approval page. `codeMacs`: what the typed code would be kept as, under each key that may have made it; absent if nothing was
 * typed.
 */
export type Press = { tokenSha256: string | null; codeMacs?: readonly string[] | undefined };

/**
 * What a press comes to that lacks the code its page asks for: a wrong one is on record, and the fifth closes the link. Null if it lacks nothing.
 * Judged on the stream, at the append: of presses that come at once none is judged before the wrong ones ahead of it count.
 */
export function unconfirmed({ tokenSha256, codeMacs }: Press, draft: Draft): DraftEvent[] | null {
  const asked = tokenSha256 === null ? undefined : findToken(draft, tokenSha256);
  if (asked?.confirmCode === undefined || codeMacs?.includes(asked.confirmCode)) return null;
  if (codeMacs === undefined) throw new Rejected("confirm_code_missing", "this link asks for the code of its mail");
  return decideNotification({ type: "RefuseConfirmCode", notificationId: asked.notificationId }, draft);
}

/** How many wrong codes may still be typed on the page of this notification, the last of which closes its link. */
export const codeTriesLeft = ({ notified }: Draft, notificationId: string): number =>
  Math.max(0, maxWrongCodes - (notified.wrongCodes[notificationId] ?? 0));
