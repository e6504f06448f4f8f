import type { ProviderEvent } from "#src/commands/sends/providerEvents.ts";
import { shortLine } from "#src/html/visible.ts";

/** SendGrid's words for what became of a mail. Others (opened, clicked, unsubscribed) say nothing that counts here. */
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

/** An event as SendGrid posts it; undefined for one that is about no mail with our mark, or says nothing that counts. */
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

/** Whom it is about, and the words of the server there, or of SendGrid. */
function evidenceOf({ event, email, reason, response, status }: Record<string, unknown>): string {
  const recipient = typeof email === "string" ? ` for ${shortLine(email, 254)}` : "";
  const words = [status, reason ?? response].filter((each) => typeof each === "string" && each !== "").join(" ");
  return `SendGrid: ${event}${recipient}${words ? `: ${shortLine(words, 300)}` : ""}`;
}
