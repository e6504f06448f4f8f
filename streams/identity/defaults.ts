import type { IdentitySettings } from "./events.ts";

/** What an identity is as long as nobody says otherwise. */
export const defaultSettings: IdentitySettings = {
  assistantId: null,
  displayName: "",
  replyToEmail: null,
  signatureText: null,
  signatureHtml: null,
  htmlRemoved: [],
  threadHistoryDepth: 10,
  status: "active",
  approvalChannel: null,
  secondaryApprovalChannel: null,
  escalationDelayMinutes: null,
  canSendCold: false,
  autoApproveReplies: false,
  requireHumanApproval: false,
  sendOnChannelApproval: true,
  coveredRecipients: [],
  confirmCode: false,
  approvalsRequired: 1,
};
