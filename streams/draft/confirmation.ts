import { Rejected } from "../decider.ts";
import type { Draft } from "./draft.ts";
import type { DraftEvent } from "./events.ts";
import { decideNotification, findToken, maxWrongCodes } from "./notification.ts";

/**
 * A press on an approval page. `codeMacs`: MACs of the typed code, under each key that may have made the stored one; absent if nothing was
 * typed.
 */
export type Press = { tokenSha256: string | null; codeMacs?: readonly string[] | undefined };

/**
 * Returns the events of a press without the required code: a wrong code is recorded, and the fifth closes the link. Null if the press is
 * valid. Decided on the stream, at the append: of simultaneous presses none is judged before the wrong ones ahead of it count.
 */
export function recordUnconfirmedPress({ tokenSha256, codeMacs }: Press, draft: Draft): DraftEvent[] | null {
  const asked = tokenSha256 === null ? undefined : findToken(draft, tokenSha256);
  if (asked?.confirmCode === undefined || codeMacs?.includes(asked.confirmCode)) return null;
  if (codeMacs === undefined) throw new Rejected("confirm_code_missing", "this link asks for the code of its mail");
  return decideNotification({ type: "RefuseConfirmCode", notificationId: asked.notificationId }, draft);
}

/** Returns how many wrong codes may still be typed on the page of this notification; the last one closes its link. */
export const codeTriesLeft = ({ notified }: Draft, notificationId: string): number =>
  Math.max(0, maxWrongCodes - (notified.wrongCodes[notificationId] ?? 0));
