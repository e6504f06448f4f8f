import type { Recorded } from "#streams/event.ts";
import type { ApprovalChannel, IdentityEvent, IdentitySettings } from "#streams/identity/events.ts";
import { toColumns } from "../rows.ts";

const columnOf: Record<keyof IdentitySettings | "workspaceId" | "domainId" | "localPart" | "emailAddress", string> = {
  workspaceId: "workspace_id",
  domainId: "domain_id",
  assistantId: "assistant_id",
  localPart: "local_part",
  emailAddress: "email_address",
  displayName: "display_name",
  replyToEmail: "reply_to_email",
  signatureText: "signature_text",
  signatureHtml: "signature_html",
  htmlRemoved: "html_removed",
  threadHistoryDepth: "thread_history_depth",
  status: "status",
  approvalChannel: "approval_channel",
  secondaryApprovalChannel: "secondary_approval_channel",
  escalationDelayMinutes: "escalation_delay_minutes",
  canSendCold: "can_send_cold",
  autoApproveReplies: "auto_approve_replies",
  requireHumanApproval: "require_human_approval",
  sendOnChannelApproval: "send_on_channel_approval",
  aliases: "aliases",
  coveredRecipients: "covered_recipients",
  confirmCode: "confirm_code",
  editByChannel: "edit_by_channel",
  approvalsRequired: "approvals_required",
};

export const identityColumns = ["id", ...Object.values(columnOf), "created_at", "updated_at", "deleted_at"];

export type StoredIdentity = { id: string } & Record<string, unknown>;

function apply(row: StoredIdentity, event: IdentityEvent, at: string): StoredIdentity {
  switch (event.type) {
    case "IdentityCreated":
      return {
        ...row,
        edit_by_channel: false,
        ...toColumns(columnOf, event.data),
        created_at: at,
        deleted_at: null,
      };
    case "IdentityUpdated":
      return { ...row, ...toColumns(columnOf, event.data.changes) };
    case "IdentitySecretsResealed":
      return { ...row, ...toColumns(columnOf, event.data.channels) };
    case "IdentityChatMoved":
      return { ...row, ...movedChannels(row, event.data) };
    case "IdentityDeleted":
      return { ...row, deleted_at: at };
  }
}

function movedChannels(row: StoredIdentity, { from, to }: { from: string; to: string }): Partial<StoredIdentity> {
  const moved = (channel: ApprovalChannel | null) =>
    channel?.type === "telegram" && channel.config.chat_id === from
      ? { ...channel, config: { ...channel.config, chat_id: to } }
      : channel;
  return {
    approval_channel: moved(row.approval_channel as ApprovalChannel | null),
    secondary_approval_channel: moved(row.secondary_approval_channel as ApprovalChannel | null),
  };
}

/** Returns the row of an identity after one of its events. */
export function evolveIdentity(before: StoredIdentity, event: Recorded<IdentityEvent>): StoredIdentity {
  const { at } = event.metadata;
  const row = apply(before, event, at);
  return event.type === "IdentitySecretsResealed" ? row : { ...row, updated_at: at };
}
