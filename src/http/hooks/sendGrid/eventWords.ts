import type { ProviderEvent } from "#src/commands/sends/providerEvents.ts";
import { shortLine } from "#src/html/visible.ts";

/** Outcomes by SendGrid's event names. Other events (opened, clicked, unsubscribed) are ignored. */
const outcomes: Readonly<Record<string, ProviderEvent["outcome"]>> = {
  processed: "processed",
  deferred: "delayed",
  delivered: "delivered",
  bounce: "bounced",
  dropped: "dropped",
  spamreport: "complained",
};

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const messageId = /^<[\x21-\x3b\x3d\x3f-\x7e]{1,898}>$/;

/** Reads an event of SendGrid; undefined if it is about a mail without our mark, or is to be ignored. */
export function providerEventOf(told: unknown): ProviderEvent | undefined {
  const event = Object(told) as Record<string, unknown>;
  const { attempt_id: attemptId, rfc_message_id: markedId, "smtp-id": wireId } = event;
  const outcome =
    typeof event.event === "string" && Object.hasOwn(outcomes, event.event) ? outcomes[event.event] : undefined;
  if (outcome === undefined || typeof attemptId !== "string" || !uuid.test(attemptId)) return undefined;
  const ids = { attemptId, markedId: idIn(markedId), wireId: idIn(wireId) };
  return { ...ids, outcome, evidence: evidenceOf(event), recipient: recipientOf(event) };
}

const idIn = (value: unknown): string | null =>
  typeof value === "string" && messageId.test(value.trim()) ? value.trim() : null;

function recipientOf({ email, reason, response, status }: Record<string, unknown>): ProviderEvent["recipient"] {
  if (typeof email !== "string") return null;
  const words = [reason ?? response].find((each) => typeof each === "string" && each !== "") as string | undefined;
  const code = typeof status === "string" ? /^[245]\.\d{1,3}\.\d{1,3}$/.exec(status.trim())?.[0] : undefined;
  return {
    address: shortLine(email, 320),
    code: code ?? null,
    text: words === undefined ? null : shortLine(words, 500),
  };
}

/** The recipient, and the answer of the recipient's server or of SendGrid. */
function evidenceOf({ event, email, reason, response, status }: Record<string, unknown>): string {
  const recipient = typeof email === "string" ? ` for ${shortLine(email, 254)}` : "";
  const words = [status, reason ?? response].filter((each) => typeof each === "string" && each !== "").join(" ");
  return `SendGrid: ${event}${recipient}${words ? `: ${shortLine(words, 300)}` : ""}`;
}
