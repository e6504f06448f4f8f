/**
 * Notices shown once at the top of a page after a form. The URL contains only the key, so that a link cannot make a page show other text.
 * One list for all pages: add yours under its heading.
 */
export const notices = {
  saved: "Saved.",
  created: "Created.",
  deleted: "Deleted.",
  // Profile.
  mailed: "Check the inbox of the new address: your address changes when you open the link there.",
  name_saved: "Your name is saved.",
  password_set: "Your new password is set, and you are signed out everywhere else.",
  // Review.
  taken_back: "Your approval is undone. The draft waits for a decision again.",
  request_withdrawn: "The request is withdrawn. The draft waits for a decision again.",
  assigned: "Saved. Your colleagues see who has taken the draft.",
  asked_again: "The approvers are notified again.",
  filedAsMessage: "Filed: it is a message of its conversation now.",
  paused: "Sending is paused. Nothing is sent until it is resumed.",
  resumed: "Sending is resumed. Waiting mail is sent now.",
  // Identities and domains.
  identityEnabled: "Enabled: mail is received, and drafts can be sent.",
  identityDisabled: "Disabled: received mail is held, and nothing is sent.",
  domainAdded: "Added. Now add its records at your DNS provider. They are checked automatically.",
  checkAsked: "Its records are being checked now.",
  invited: "The invitation is on its way. Its link works for 7 days.",
  memberChanged: "The role was changed, with immediate effect.",
  memberRemoved: "Removed. They no longer have access to this workspace.",
  // Conversations.
  replySent: "Your reply will be sent in 10 seconds. Until then you can undo it below.",
  replyApprovedAtOnce: "Your draft was approved immediately, because this identity approves replies automatically.",
  replyTakenBack: "Undone: nothing was sent. Your reply is a draft now, and waits for a decision.",
  replyKept: "Your reply is saved as a draft. It is sent once it is approved.",
  // Settings
  key_revoked: "The key is revoked: every request with it is refused.",
  session_ended: "That device is signed out.",
  session_not_found:
    "That device was already signed out, or it has signed in again since this page was loaded: check the list below.",
  sessions_ended: "You are signed out on all other devices.",
  approval_required: "From now on a person has to approve every reply.",
  approval_waived: "Each identity's own setting decides again whether a person has to approve.",
  sign_in_required: "From now on links lead to the sign-in, and only members decide by them.",
  sign_in_waived: "Links decide without a sign-in again.",
  password_confirmed: "Thank you. We won't ask again for 10 minutes.",
} as const;

export type Notice = keyof typeof notices;

export const isNotice = (text: string | null): text is Notice => text !== null && Object.hasOwn(notices, text);
