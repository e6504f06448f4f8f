import type { ProviderEvent } from "#src/commands/sends/providerEvents.ts";
import { shortLine } from "#src/html/visible.ts";

/** Outcomes by SendGrid's event names. Other events (opened, clicked, unsubscribed) are ignored. */
const outcomes: Readonly<Record<string, ProviderEvent["outcome"]>> = {
  processed: "processed",
  deferred: "processed",
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
  return { attemptId, markedId: idIn(markedId), wireId: idIn(wireId), outcome, evidence: evidenceOf(event) };
}

const idIn = (value: unknown): string | null =>
  typeof value === "string" && messageId.test(value.trim()) ? value.trim() : null;

/** The recipient, and the answer of the recipient's server or of SendGrid. */
function evidenceOf({ event, email, reason, response, status }: Record<string, unknown>): string {
  const recipient = typeof email === "string" ? ` for ${shortLine(email, 254)}` : "";
  const words = [status, reason ?? response].filter((each) => typeof each === "string" && each !== "").join(" ");
  return `SendGrid: ${event}${recipient}${words ? `: ${shortLine(words, 300)}` : ""}`;
}
