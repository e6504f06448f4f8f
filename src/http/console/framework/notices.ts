/**
 * What a page says at its top after a form, once. The address names it by its key, so that nobody can make a page of ours say words of theirs.
 * One list for all pages: add yours under your noun.
 */
export const notices = {
  saved: "Saved.",
  created: "Created.",
  deleted: "Deleted.",
  // Review.
  taken_back: "Your approval is taken back. The draft waits for a decision again.",
  asked_again: "The approvers are asked again.",
  paused: "Sending is paused. Nothing leaves until it is resumed.",
  resumed: "Sending is resumed. What waited leaves now.",
} as const;

export type Notice = keyof typeof notices;

export const isNotice = (text: string | null): text is Notice => text !== null && Object.hasOwn(notices, text);
