import { shortLine } from "#src/html/visible.ts";
import { channelInWords, type ShownChannel } from "./channelFields.ts";
import { type FormField, fieldNamed } from "./fields.ts";
import { type IdentityContext, leavesAlone, minutesInWords, needsPerson } from "./story.ts";
import { type AssistantChoice, type DomainChoice, type IdentityAnswer, mailDomainOf } from "./workspaceContext.ts";

/** A field's value in words, for people who may only read. */
export function valueInWords(
  { name, kind }: FormField,
  identity: IdentityAnswer,
  { domains, assistants }: { domains: readonly DomainChoice[]; assistants: readonly AssistantChoice[] },
): string {
  const value: unknown = Object(identity)[name];
  if (value === null || value === undefined || value === "") return "none";
  if (kind === "switch") return value ? "yes" : "no";
  if (kind === "channel") return channelInWords(value as ShownChannel);
  if (name === "escalation_delay_minutes") return minutesInWords(value as number);
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.join(", ");
  if (kind === "assistant") return assistants.find(({ id }) => id === value)?.name ?? String(value);
  if (kind === "domain") {
    const domain = domains.find(({ id }) => id === value);
    return domain ? mailDomainOf(domain) : String(value);
  }
  return String(value);
}

/** The approvers in words: their channels, or that there are none. */
export function approversInWords(identity: IdentityAnswer, around: IdentityContext): string {
  if (leavesAlone(identity, around)) return "nobody";
  const { approval_channel, secondary_approval_channel } = identity;
  const channels = [approval_channel, secondary_approval_channel].filter((channel) => channel !== null);
  return channels.length === 0 ? "no approver is notified" : channels.map(channelInWords).join(", then ");
}

/** The most important settings of an identity, in a few words each; `severe`: mail may be sent without review by a person. */
export function marksOf(identity: IdentityAnswer, around: IdentityContext): { text: string; severe?: true }[] {
  const { approvals_required, send_on_channel_approval, can_send_cold, confirm_code } = identity;
  if (leavesAlone(identity, around)) {
    return [{ text: "replies are sent without approval", severe: true }, ...(can_send_cold ? [mayBegin] : [])];
  }
  return [
    needsPerson(identity, around) ? { text: "a person approves" } : { text: "API keys can approve", severe: true },
    ...(approvals_required > 1 ? [{ text: `${approvals_required} approvals` }] : []),
    { text: send_on_channel_approval ? "sent on approval" : "waits to be sent after approval" },
    ...(confirm_code ? [{ text: "asks for a code" }] : []),
    ...(can_send_cold ? [mayBegin] : []),
  ];
}

const mayBegin = { text: "may start conversations" };

/** Replaces API field names in one of the service's sentences by their labels on the page. */
const withLabels = (text: string): string =>
  text.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, (name) => {
    const label = fieldNamed(name)?.label;
    return label === undefined ? name : `“${label}”`;
  });

/** One of the service's sentences about an identity, with the labels of the page. */
export const inPageWords = (text: string): string => asSentence(withLabels(text));

/** Makes a sentence of a refusal or a provider's answer: one line, shortened, with a full stop. */
export function asSentence(words: string, max = 600): string {
  const line = shortLine(words, max);
  const begun = `${line.charAt(0).toUpperCase()}${line.slice(1)}`;
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
