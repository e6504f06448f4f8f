import { counted } from "#src/html/counted.ts";
import { shortLine } from "#src/html/visible.ts";
import type { Answers, ListItem } from "../../routes.ts";
import { channelInWords, type ShownChannel } from "./channelFields.ts";

/** Settings of an identity that decide what happens to mail for it. */
export type StorySettings = Pick<
  Answers["GET /v1/identities/:identity_id"],
  | "email_address"
  | "status"
  | "escalation_delay_minutes"
  | "auto_approve_replies"
  | "require_human_approval"
  | "send_on_channel_approval"
  | "approvals_required"
> & { approval_channel: ShownChannel | null; secondary_approval_channel: ShownChannel | null };

/** Facts from the workspace. A field is undefined if the reader has no right to know it. */
export type IdentityContext = {
  domain?: (Pick<ListItem<"GET /v1/domains">, "id" | "status"> & { name: string }) | undefined;
  assistant?: Pick<ListItem<"GET /v1/assistants">, "name" | "status"> | undefined;
  workspace?: Pick<Answers["GET /v1/workspaces/me"], "sending_paused" | "require_human_approval"> | undefined;
  /** How approvers were reached the last time, if known. */
  notified?: Pick<ListItem<"GET /v1/drafts">["notification_status"], "state" | "channel" | "error"> | undefined;
};

/** The reason why mail stops at a step, and the page where it can be fixed. */
export type SetupFault = { text: string; path?: string; remedy?: string };

export type MailStep = { name: "mail" | "draft" | "approval" | "sending"; text: string; fault?: SetupFault };

/** Describes from its settings how an identity handles mail: each step in words, and its fault, if any. */
export function storyOf(identity: StorySettings & { id: string }, around: IdentityContext): MailStep[] {
  const step = (name: MailStep["name"], text: string, fault: SetupFault | undefined): MailStep =>
    fault ? { name, text, fault } : { name, text };
  return [
    step("mail", `Mail to ${shortLine(identity.email_address, 200)}`, receivingFault(identity, around)),
    step("draft", draftWords(around), draftFault(around)),
    step("approval", approvalWords(identity, around), approvalFault(identity, around)),
    step("sending", sendingWords(identity, around), sendingFault(around)),
  ];
}

/** The steps as one sentence: "Mail to support@example.com → the agent drafts → ann@example.com (mail) approves → it leaves". */
export const storySentence = (steps: readonly MailStep[]): string => steps.map(({ text }) => text).join(" → ");

/** The first fault of the steps. */
export const firstFault = (steps: readonly MailStep[]): SetupFault | undefined =>
  steps.find(({ fault }) => fault)?.fault;

/** True if a person must approve: required by the identity, or by its workspace. */
export const needsPerson = (
  identity: Pick<StorySettings, "require_human_approval">,
  { workspace }: IdentityContext,
): boolean => identity.require_human_approval || workspace?.require_human_approval === true;

/** True if replies are sent without review by a person. */
export const leavesAlone = (
  identity: Pick<StorySettings, "auto_approve_replies" | "approvals_required" | "require_human_approval">,
  around: IdentityContext,
): boolean => identity.auto_approve_replies && identity.approvals_required === 1 && !needsPerson(identity, around);

function receivingFault(
  { id, status }: { id: string; status: string },
  { domain }: IdentityContext,
): SetupFault | undefined {
  if (status === "disabled") {
    const text = "It is disabled: received mail is held, and nothing is sent until it is enabled.";
    return { text, path: `/identities/${id}`, remedy: "Enable it" };
  }
  if (domain && domain.status !== "verified") {
    const text = `Its domain ${shortLine(domain.name, 100)} is not verified: mail may not arrive, and none is sent.`;
    return { text, path: `/domains/${domain.id}`, remedy: "See its DNS records" };
  }
  return undefined;
}

const draftWords = ({ assistant }: IdentityContext): string =>
  assistant ? `${shortLine(assistant.name, 60)} drafts` : "the agent drafts";

const draftFault = ({ assistant }: IdentityContext): SetupFault | undefined =>
  assistant?.status === "disabled" ? { text: "Its assistant is disabled: it accepts no new drafts." } : undefined;

const channelsOf = ({ approval_channel, secondary_approval_channel }: StorySettings): ShownChannel[] =>
  [approval_channel, secondary_approval_channel].filter((channel) => channel !== null);

function approvalWords(identity: StorySettings, around: IdentityContext): string {
  if (leavesAlone(identity, around)) return "nobody approves";
  const { approvals_required: required, escalation_delay_minutes: minutes } = identity;
  const [first, second] = channelsOf(identity).map(channelInWords);
  const key = needsPerson(identity, around) ? "" : " or an API key";
  if (first === undefined)
    return required > 1 ? `${required} members${key} approve here` : `a member${key} approves here`;
  if (required > 1) {
    const from = [first, ...(second ? [second] : []), `members${key}`].join(", ");
    return `${required} approvals are given, by ${from}`;
  }
  const later =
    second === undefined || !identity.approval_channel
      ? ""
      : `, after ${minutesInWords(minutes ?? 60)} also ${second},`;
  return `${first}${later}${key} approves`;
}

function approvalFault(identity: StorySettings & { id: string }, around: IdentityContext): SetupFault | undefined {
  if (leavesAlone(identity, around)) return undefined;
  const path = `/identities/${identity.id}/approval`;
  if (channelsOf(identity).length === 0) {
    const text = "It has no approval channel: no approver is notified when a draft waits.";
    return { text, path, remedy: "Set a channel" };
  }
  const { notified } = around;
  if (notified?.state !== "failed" && notified?.state !== "retrying") return undefined;
  const said = notified.error === null ? "" : ` (${shortLine(notified.error, 300)})`;
  const text =
    notified.state === "failed"
      ? `The approver was not reached last time${said}.`
      : `The approver has not been reached yet; the service will try again${said}.`;
  return { text, path, remedy: "Check the channel" };
}

function sendingWords(identity: StorySettings, around: IdentityContext): string {
  if (leavesAlone(identity, around) || identity.send_on_channel_approval) return "it leaves";
  return needsPerson(identity, around) ? "a member sends it" : "a member or an API key sends it";
}

const sendingFault = ({ workspace }: IdentityContext): SetupFault | undefined =>
  workspace?.sending_paused
    ? { text: "Sending is paused in this workspace: nothing is sent.", path: "/review", remedy: "See the switch" }
    : undefined;

/** 90: "90 minutes"; 120: "2 hours"; 1440: "1 day". */
export function minutesInWords(minutes: number): string {
  if (minutes % 1440 === 0) return counted(minutes / 1440, "day");
  return minutes % 60 === 0 ? counted(minutes / 60, "hour") : counted(minutes, "minute");
}
