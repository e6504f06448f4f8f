import type { IdentitySettings } from "./events.ts";

/** Settings of an identity unless set otherwise. */
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
  aliases: [],
  coveredRecipients: [],
  confirmCode: false,
  editByChannel: false,
  approvalsRequired: 1,
};

/**
 * Settings that determine who approves and may edit, in whose name mail is sent, and where the conversation continues. While human approval is required,
 * changing one requires the right to change how it is given.
 */
export const guardedSettings = [
  "approvalChannel",
  "secondaryApprovalChannel",
  "aliases",
  "coveredRecipients",
  "approvalsRequired",
  "replyToEmail",
  "displayName",
  "sendOnChannelApproval",
  "editByChannel",
] as const satisfies readonly (keyof IdentitySettings)[];
