/** Mail to a member with the newest signed head of the audit tree: none, or at most one a day. The default is off. */
export const headMails = ["off", "daily"] as const;

export type HeadMail = (typeof headMails)[number];
