import type { HtmlRemoved } from "../draft/content.ts";
import type { Event } from "../event.ts";

/** An approval channel; secrets in `config` are already sealed (src/platform/secrets/keyRing.ts). */
export type ApprovalChannel = { type: "telegram" | "slack" | "email"; config: Record<string, string> };

/** Settings of an identity, with the contract's meaning. */
export type IdentitySettings = {
  assistantId: string | null;
  displayName: string;
  replyToEmail: string | null;
  signatureText: string | null;
  signatureHtml: string | null;
  /** Parts removed from the signature's HTML. */
  htmlRemoved: HtmlRemoved[];
  threadHistoryDepth: number;
  status: "active" | "disabled";
  approvalChannel: ApprovalChannel | null;
  secondaryApprovalChannel: ApprovalChannel | null;
  escalationDelayMinutes: number | null;
  canSendCold: boolean;
  autoApproveReplies: boolean;
  requireHumanApproval: boolean;
  sendOnChannelApproval: boolean;
  /** Further addresses from which mail is forwarded to this one: a reply to all leaves them out. */
  aliases: readonly string[];
  /** Recipients who may be answered automatically although the proof of the message's sender does not cover them. */
  coveredRecipients: readonly string[];
  /** True if an approval page asks for the four digits in the approval mail. */
  confirmCode: boolean;
  /** True if approvers may correct a draft's text where its card is: on the link page, in Slack and in Telegram. */
  editByChannel: boolean;
  /** Number of approvals that a draft requires, 1 to 5. */
  approvalsRequired: number;
};

export type IdentityEvent =
  | Event<
      "IdentityCreated",
      IdentitySettings & { workspaceId: string; domainId: string; localPart: string; emailAddress: string }
    >
  | Event<"IdentityUpdated", { changes: Partial<IdentitySettings> }>
  /** The secrets of the channels were sealed again, under another key of the ring. */
  | Event<
      "IdentitySecretsResealed",
      { channels: Partial<Pick<IdentitySettings, "approvalChannel" | "secondaryApprovalChannel">> }
    >
  /** The provider gave a chat another id (`to`): channels with the old id now have the new one, and it stays the same chat. */
  | Event<"IdentityChatMoved", { from: string; to: string }>
  | Event<"IdentityDeleted", { emailAddress: string }>;

export const identityStream = (id: string): string => `identity-${id}`;
