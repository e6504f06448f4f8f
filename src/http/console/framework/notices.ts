/**
 * Notices shown once at the top of a page after a form. The URL contains only the key, so that a link cannot make a page show other text.
 * One list for all pages: add yours under its heading.
 */
export const notices = {
  saved: "Saved.",
  created: "Created.",
  deleted: "Deleted.",
  // Profile.
  mailed: "Look into the mail of the new address: your address changes when you press the link there.",
  name_saved: "Your name is saved.",
  password_set: "Your new password is set, and every other sign-in of yours has ended.",
  // Review.
  taken_back: "Your approval is taken back. The draft waits for a decision again.",
  asked_again: "The approvers are asked again.",
  paused: "Sending is paused. Nothing leaves until it is resumed.",
  resumed: "Sending is resumed. What waited leaves now.",
  // Identities and domains.
  identityEnabled: "Enabled: mail comes in, and drafts can leave.",
  identityDisabled: "Disabled: mail is held back, and nothing leaves.",
  domainAdded: "Added. Now add its records at your DNS provider: they are looked for by themselves.",
  checkAsked: "Its records are being looked up now.",
  invited: "The invitation is on its way. Its link is good for 7 days.",
  memberChanged: "The role was changed. It counts from now on.",
  memberRemoved: "Removed. They can do nothing here any more.",
  // Conversations.
  replySent: "Your reply leaves in 10 seconds. Until then you can undo it below.",
  replyApprovedAtOnce: "Your draft was approved at once, because this identity approves replies automatically.",
  replyTakenBack: "Undone: nothing was sent. Your reply is a draft now, and waits for a decision.",
  replyKept: "Your reply is saved as a draft. It is sent once it is approved.",
  // Settings
  key_revoked: "The key is revoked: nothing is answered under it any more.",
  session_ended: "That sign-in has ended.",
  session_not_found:
    "That sign-in had ended already, or it has been renewed since this page was loaded: look at what is listed now.",
  sessions_ended: "All your other sign-ins have ended.",
  approval_required: "From now on a person has to approve every reply.",
  approval_waived: "Each identity decides again whether a person has to approve.",
  password_confirmed: "Thank you. For 10 minutes you are not asked again.",
} as const;

export type Notice = keyof typeof notices;

export const isNotice = (text: string | null): text is Notice => text !== null && Object.hasOwn(notices, text);
