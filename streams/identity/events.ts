import type { HtmlRemoved } from "../draft/content.ts";
import type { Event } from "../event.ts";

/** Secrets inside `config` are sealed (src/platform/secrets/keyRing.ts) before they come here. */
export type ApprovalChannel = { type: "telegram" | "slack" | "email"; config: Record<string, string> };

/** What can be set on an identity, in the contract's meaning. */
export type IdentitySettings = {
  assistantId: string | null;
  displayName: string;
  replyToEmail: string | null;
  signatureText: string | null;
  signatureHtml: string | null;
  /** What the signature's HTML lost when it was reduced. */
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
  /** Recipients who may be answered automatically although the message's proof does not cover them. */
  coveredRecipients: readonly string[];
  /** An approval page asks for the four digits that are in the approval mail. */
  confirmCode: boolean;
  /** How many approvers have to approve a draft, 1 to 5. */
  approvalsRequired: number;
};

export type IdentityEvent =
  | Event<
      "IdentityCreated",
      IdentitySettings & { workspaceId: string; domainId: string; localPart: string; emailAddress: string }
    >
  | Event<"IdentityUpdated", { changes: Partial<IdentitySettings> }>
  /** The same channels, their secrets sealed under another key of the ring. */
  | Event<
      "IdentitySecretsResealed",
      { channels: Partial<Pick<IdentitySettings, "approvalChannel" | "secondaryApprovalChannel">> }
    >
  /** The provider gave a chat another id (`to`): channels that named the old one name it so, and it stays the same chat. */
  | Event<"IdentityChatMoved", { from: string; to: string }>
  | Event<"IdentityDeleted", { emailAddress: string }>;

export const identityStream = (id: string): string => `identity-${id}`;
