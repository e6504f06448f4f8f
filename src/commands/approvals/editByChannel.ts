import type { ApprovalChannel, IdentitySettings } from "#streams/identity/events.ts";

type EditSettings = Pick<
  IdentitySettings,
  "editByChannel" | "confirmCode" | "approvalChannel" | "secondaryApprovalChannel"
>;

/** Returns a warning for each kind of channel in which edit_by_channel has no effect with these settings, and its remedy. */
export function withoutEdit(identity: EditSettings): string[] {
  if (!identity.editByChannel) return [];
  const channels = [identity.approvalChannel, identity.secondaryApprovalChannel].filter((channel) => channel !== null);
  const some = (is: (channel: ApprovalChannel) => boolean) => channels.some(is);
  return [
    ...(some(({ type }) => type === "email") && !identity.confirmCode
      ? ["edit_by_channel has no effect for approval mails without confirm_code: turn on confirm_code"]
      : []),
    ...(some(({ type, config }) => type === "slack" && config.bot_token === undefined)
      ? ["edit_by_channel has no effect in Slack without a bot_token: add the bot_token of the app"]
      : []),
  ];
}
