/**
 * What a page says at its top after a form, once. The address names it by its key, so that nobody can make a page of ours say words of theirs.
 * One list for all pages: add yours under your noun.
 */
export const notices = {
  saved: "Saved.",
  created: "Created.",
  deleted: "Deleted.",
  invited: "The invitation is on its way. Its link is good for 7 days.",
  memberChanged: "The role was changed. It counts from now on.",
  memberRemoved: "Removed. They can do nothing here any more.",
  // Conversations.
  replySent: "Your reply is on its way.",
  replyKept: "Your reply is saved as a draft. It is sent once it is approved.",
  identityEnabled: "Enabled: mail comes in, and drafts can leave.",
  identityDisabled: "Disabled: mail is held back, and nothing leaves.",
  // Settings
  key_revoked: "The key is revoked: nothing is answered under it any more.",
  session_ended: "That sign-in has ended.",
  sessions_ended: "All your other sign-ins have ended.",
  approval_required: "From now on a person has to approve every reply.",
  approval_waived: "Each identity decides again whether a person has to approve.",
  password_confirmed: "Thank you. For 10 minutes you are not asked again.",
} as const;

export type Notice = keyof typeof notices;

export const isNotice = (text: string | null): text is Notice => text !== null && Object.hasOwn(notices, text);
