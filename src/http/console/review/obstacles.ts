import type { ApprovalView } from "#src/channels/approvalView.ts";
import type { SendObstacle } from "#src/commands/approvals/sendObstacle.ts";

const because: Record<SendObstacle, string> = {
  installation_paused: "The operator of this service has paused all sending.",
  sending_paused: "Sending is paused in this workspace.",
  identity_disabled: "The sending address is disabled.",
  identity_over_cap: "The plan allows fewer identities, and this one is over the limit: it cannot send.",
  identity_deleted: "The sending address was deleted.",
  domain_not_verified: "The domain of the sending address is not verified: its DNS records have to be corrected first.",
  plan_limit_reached: "The plan's quota of outgoing mail is used up.",
};

const byItself =
  "If you approve it now, it will be sent automatically once this is resolved, unless a newer message arrives first.";
const sentAgain = "If you approve it now, the approval is recorded, and the mail can be sent once this is resolved.";

const then: Record<SendObstacle, string> = {
  installation_paused: byItself,
  sending_paused: byItself,
  identity_disabled: byItself,
  identity_over_cap: byItself,
  identity_deleted: "It can no longer be sent.",
  domain_not_verified: byItself,
  plan_limit_reached: sentAgain,
};

/** Explains why an approved draft would not be sent now, and what an approval still does. */
export const obstacleSentences = (
  obstacle: SendObstacle,
  { sendsOnApproval }: Pick<ApprovalView, "sendsOnApproval">,
): string[] => [
  `${because[obstacle]}${sendsOnApproval || obstacle === "identity_deleted" ? ` ${then[obstacle]}` : ""}`,
];
