/**
 * Mail to a member about drafts that wait for a decision: none, or one at the end of each window in which a draft began to wait. The default
 * is off.
 */
export const draftMails = ["off", "five_minutes", "hour"] as const;

export type DraftMail = (typeof draftMails)[number];

/** Length of a window in milliseconds. Windows are the same for everyone: they begin at multiples of their length. */
export const draftMailWindowMs: Record<Exclude<DraftMail, "off">, number> = {
  five_minutes: 5 * 60_000,
  hour: 60 * 60_000,
};
