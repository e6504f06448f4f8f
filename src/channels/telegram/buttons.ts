import type { Keyboard } from "./styled.ts";

/**
 * Actions of our buttons. `reject`, `request_changes` and `edit`: ask for a text first. `send_edit`, `cancel_edit`: under the preview of an
 * edit.
 */
export type ButtonAction =
  | "approve"
  | "reject"
  | "reject_now"
  | "request_changes"
  | "edit"
  | "send_edit"
  | "cancel_edit";

const letters: Record<ButtonAction, string> = {
  approve: "a",
  reject: "r",
  reject_now: "n",
  request_changes: "c",
  edit: "e",
  send_edit: "s",
  cancel_edit: "x",
};

/** Encodes a button: a letter and the opaque token of its question. Telegram limits this to 64 bytes. */
export const buttonData = (action: ButtonAction, token: string): string => `${letters[action]}:${token}`;

/** Decodes a pressed button; undefined if it is not ours. */
export function readButton(data: string): { action: ButtonAction; token: string } | undefined {
  const [, letter, token] = /^([arncesx]):([\w-]{43})$/.exec(data) ?? [];
  const action = (Object.keys(letters) as ButtonAction[]).find((each) => letters[each] === letter);
  return action && token !== undefined ? { action, token } : undefined;
}

/** Replaces the button that asks for a reason by one that rejects without a reason. */
export const withoutReason = (keyboard: Keyboard): Keyboard =>
  keyboard.map((row) =>
    row.map((button) =>
      "callback_data" in button && button.callback_data.startsWith(`${letters.reject}:`)
        ? { text: "Reject without a reason", callback_data: `${letters.reject_now}:${button.callback_data.slice(2)}` }
        : button,
    ),
  );
