import type { ApprovalRequest } from "#streams/draft/events.ts";
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

/** An edit to be judged. `isInChat`: by a button of a chat; else on a link's page. `hasHtml`: the draft has an HTML part. */
type EditToJudge = {
  identity: Pick<IdentitySettings, "editByChannel">;
  asked: Pick<ApprovalRequest, "confirmCode">;
  isInChat: boolean;
  hasHtml: boolean;
};

/** Returns why an approver cannot edit the draft in this place, as a sentence; null if they can. */
export function whyNoEdit({ identity, asked, isInChat, hasHtml }: EditToJudge): string | null {
  if (!identity.editByChannel) return "Approvers cannot edit the drafts of this address here. Ask for changes instead.";
  if (!isInChat && asked.confirmCode === undefined)
    return "This page can edit a draft only if it asks for the code of an approval mail. Ask for changes instead.";
  return isInChat && hasHtml ? "This draft has formatted text, which cannot be edited in a chat." : null;
}

/** Returns the place in which the holder of a link can edit the draft: its page if that asks for a code, else the console; null: none. */
export const editingByLink = (
  { editByChannel }: Pick<IdentitySettings, "editByChannel">,
  { confirmCode }: Pick<ApprovalRequest, "confirmCode">,
): "here" | "console" | null => (editByChannel ? (confirmCode === undefined ? "console" : "here") : null);
