import { allowedUsersOf } from "#src/channels/allowedUsers.ts";
import type { ApprovalChannel, IdentitySettings } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { openedChannel } from "./approvalChannels.ts";
import { requiresHuman } from "./humanApproval.ts";
import { memberVoters, voterOf } from "./voters.ts";

type Approvers = Pick<
  IdentitySettings,
  "approvalChannel" | "secondaryApprovalChannel" | "approvalsRequired" | "requireHumanApproval"
> & { workspaceId: string };

/**
 * Returns a warning if an identity's channels have fewer approvers than its quorum. The warning says who else can give the missing
 * approvals. Returns null if there are enough.
 */
export async function unreachableQuorum(deps: Dependencies, identity: Approvers): Promise<string | null> {
  const { approvalsRequired: required, workspaceId } = identity;
  if (required === 1) return null;
  const asked = approversOf(deps, identity);
  if (asked === "many" || asked.size >= required) return null;
  const people = asked.size;
  const have = `approvals_required is ${required}, but its approval channels have ${people} approver${people === 1 ? "" : "s"}`;
  const all = new Set([...asked, ...(await memberVoters(deps, workspaceId))]).size;
  if (all >= required) return `${have}: signed-in members have to give the other approvals`;
  const keysCount = !(await requiresHuman(deps, identity));
  if (keysCount && all + 1 >= required)
    return `${have}: an API key has to give the last approval (POST /v1/drafts/{id}/approve)`;
  return `${have}, so drafts can never be approved: set another approval channel, or lower approvals_required`;
}

/** Returns the distinct approvers that the channels ask. A mailbox is one approver; a group chat counts as any number ("many"). */
function approversOf(deps: Dependencies, identity: Approvers): ReadonlySet<string> | "many" {
  const { workspaceId } = identity;
  const voters = (["primary", "secondary"] as const).map((slot) => {
    const channel = slot === "primary" ? identity.approvalChannel : identity.secondaryApprovalChannel;
    return channel === null ? [] : votersOf(deps, openedChannel(deps, { workspaceId, slot }, channel));
  });
  return voters.includes("many") ? "many" : new Set(voters.flat());
}

/** Returns the approvers of one channel. In Telegram, a chat of one user with a bot has a positive id, a group a negative id. */
function votersOf({ settings }: Dependencies, { type, config }: ApprovalChannel): string[] | "many" {
  if (type === "email") return [voterOf({ kind: "email_link", id: config.to as string }, null).voter];
  if (type === "telegram") {
    const users = allowedUsersOf(config) ?? (/^\d+$/.test(config.chat_id ?? "") ? [config.chat_id as string] : null);
    return users === null ? "many" : [...users].map((id) => voterOf({ kind: "telegram", id }, null).voter);
  }
  // Only a signing secret proves who pressed a button. Without one, all members of a Slack channel decide by the same links and count as
  // one approver.
  if (!config.signing_secret && !settings.slackPressesProven) return ["slack"];
  const users = allowedUsersOf(config);
  return users === null ? "many" : [...users].map((id) => voterOf({ kind: "slack", id }, null).voter);
}
