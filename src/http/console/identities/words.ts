import { shortLine } from "#src/html/visible.ts";
import { type Assistant, type Domain, type Identity, mailDomainOf } from "./around.ts";
import { channelInWords, type ShownChannel } from "./channelFields.ts";
import { type FormField, fieldNamed } from "./fields.ts";
import { type Around, leavesAlone, minutesInWords, needsPerson } from "./story.ts";

/** The value of a field as a sentence or a name has it, for who only looks. */
export function valueInWords(
  { name, kind }: FormField,
  identity: Identity,
  { domains, assistants }: { domains: readonly Domain[]; assistants: readonly Assistant[] },
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

/** Who approves, in words: its channels, or that there is none. */
export function approversInWords(identity: Identity, around: Around): string {
  if (leavesAlone(identity, around)) return "nobody";
  const { approval_channel, secondary_approval_channel } = identity;
  const channels = [approval_channel, secondary_approval_channel].filter((channel) => channel !== null);
  return channels.length === 0 ? "nobody is asked" : channels.map(channelInWords).join(", then ");
}

/** The settings of an identity that matter most, in few words each; `severe`: mail may leave that nobody looked at. */
export function marksOf(identity: Identity, around: Around): { text: string; severe?: true }[] {
  const { approvals_required, send_on_channel_approval, can_send_cold, confirm_code } = identity;
  if (leavesAlone(identity, around)) {
    return [{ text: "replies leave without a person", severe: true }, ...(can_send_cold ? [mayBegin] : [])];
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

/** Fields of the API by the names that they have on the page, in a sentence of the service's own. */
const withLabels = (text: string): string =>
  text.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, (name) => {
    const label = fieldNamed(name)?.label;
    return label === undefined ? name : `“${label}”`;
  });

/** A sentence of the service's own about an identity, with the names of its fields as the page has them. */
export const inPageWords = (text: string): string => asSentence(withLabels(text));

/** A refusal or an answer of a provider as a sentence: on one line, cut, and with an end. */
export function asSentence(words: string, max = 600): string {
  const line = shortLine(words, max);
  const begun = `${line.charAt(0).toUpperCase()}${line.slice(1)}`;
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
