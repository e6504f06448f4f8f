/**
 * What a page says at its top after a form, once. The address names it by its key, so that nobody can make a page of ours say words of theirs.
 * One list for all pages: add yours under your noun.
 */
export const notices = {
  saved: "Saved.",
  created: "Created.",
  deleted: "Deleted.",
  domainAdded: "Added. Now add its records at your DNS provider: they are looked for by themselves.",
  checkAsked: "Its records are being looked up now.",
  identityEnabled: "Enabled: mail comes in, and drafts can leave.",
  identityDisabled: "Disabled: mail is held back, and nothing leaves.",
} as const;

export type Notice = keyof typeof notices;

export const isNotice = (text: string | null): text is Notice => text !== null && Object.hasOwn(notices, text);
