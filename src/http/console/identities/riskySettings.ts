import type { ShownChannel } from "./channelFields.ts";
import { type IdentityContext, leavesAlone, needsPerson, type StorySettings } from "./story.ts";

export type RiskySetting = { text: string; severe?: true };

type RiskInput = StorySettings & {
  can_send_cold: boolean;
  confirm_code: boolean;
  covered_recipients: readonly string[];
};

/** Risky combinations of an identity's settings that a person may not expect, worst first. */
export function riskySettingsOf(identity: RiskInput, around: IdentityContext): RiskySetting[] {
  const person = needsPerson(identity, around);
  const alone = leavesAlone(identity, around);
  const channels = [identity.approval_channel, identity.secondary_approval_channel].filter((each) => each !== null);
  const found: (RiskySetting | false)[] = [
    alone && {
      severe: true,
      text: "Replies are sent without a person's approval: whatever the agent writes is sent at once.",
    },
    !alone &&
      !person && {
        severe: true,
        text: "An API key with the right to write drafts can approve them, including the agent's own key. Turn on “A person has to approve” so that only people decide.",
      },
    person &&
      channels.length === 0 && {
        text: "A person has to approve, but no approver is notified: drafts wait until a member decides here.",
      },
    identity.auto_approve_replies &&
      !alone && {
        text: `“Approve replies automatically” has no effect: ${person ? "a person has to approve" : "several approvals are required"}.`,
      },
    identity.can_send_cold &&
      !person && { text: "It may start conversations with anyone, and an API key is enough to send them." },
    identity.covered_recipients.length > 0 &&
      !person && {
        text: "A sender who forges the address of a covered recipient may be answered automatically.",
      },
    identity.confirm_code &&
      channels.length > 0 &&
      !channels.some(({ type }) => type === "email") && {
        text: "The code has no effect: only approval mails use it, and no approval channel is a mailbox.",
      },
    sameChannel(identity.approval_channel, identity.secondary_approval_channel) && {
      text: "Both channels reach the same approver: no other approver is asked if that one does not answer.",
    },
  ];
  return found.filter((danger): danger is RiskySetting => danger !== false);
}

const sameChannel = (one: ShownChannel | null, other: ShownChannel | null): boolean =>
  one !== null &&
  other !== null &&
  one.type === other.type &&
  JSON.stringify(one.config) === JSON.stringify(other.config);
