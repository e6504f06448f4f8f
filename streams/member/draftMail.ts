/**
 * Mail to a member about drafts that wait for a decision: none, or one at the end of each window in which a draft began to wait. The default
 * is off.
 */
export const draftMails = ["off", "five_minutes", "hour"] as const;

export type DraftMail = (typeof draftMails)[number];
