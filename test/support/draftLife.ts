import { type HistoryEvent, type LifeEvent, toLifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import type { Actor, Recorded } from "#streams/event.ts";
import * as drafts from "#test/support/examples/drafts.ts";

type By = Actor | undefined;

export const key: Actor = { kind: "api_key", id: "key-1", name: "agent" };
export const deliver: Actor = { kind: "system", id: "deliver" };
export const mailLink: Actor = {
  kind: "email_link",
  id: "primary@approvers.example",
  channel: "email",
  ip: "192.0.2.7",
};
export const chatLink: Actor = { kind: "email_link", id: "0199-asked", channel: "slack" };
export const telegram: Actor = { kind: "telegram", id: "4711", name: "Ada", channel: "telegram" };
export const slack: Actor = { kind: "slack", id: "U0815", name: "Grace", channel: "slack" };
export const session: Actor = { kind: "session", id: "user-1", name: "Joan", email: "joan@office.example" };
export const rule: Actor = { kind: "rule", id: "rule-1", name: "Trusted first" };

/** Returns the time of a minute on 21 Nov 2026, counted from 10:00 UTC. */
export const at = (minute: number): string => new Date(Date.UTC(2026, 10, 21, 10, minute)).toISOString();

/** Makes a draft's history: events one minute apart, by the given actor or else by the agent's key. */
export const history = (...events: (readonly [HistoryEvent, By?] | HistoryEvent)[]): LifeEvent[] =>
  events.map((given, index) => {
    const [event, by = key] = "type" in given ? [given] : given;
    const metadata = { workspaceId: "workspace", actor: by, correlationId: "c", causationId: "c", at: at(index) };
    return toLifeEvent({ ...event, metadata, position: index + 1 } as unknown as Recorded);
  });

type Delivery = Extract<HistoryEvent, { type: `Delivery${string}` }>;
const report = { draftId: "draft", threadId: "thread", messageId: "answer", evidence: "the provider says so" };

export const started = (provider = "smtp"): [Delivery, Actor] => [
  {
    type: "DeliveryStarted",
    data: {
      ...{ draftId: "draft", threadId: "thread", version: 1, contentSha256: "hash 1", provider },
      ...{ rfcMessageId: "<ours@agents.localhost>", mimeSha256: "mime", instanceId: "i", fence: "f" },
    },
  },
  deliver,
];
export const accepted = (rejectedRecipients: string[] = []): [Delivery, Actor] => [
  { type: "DeliveryAccepted", data: { response: "250 queued", providerId: null, rejectedRecipients } },
  deliver,
];
export const refused = (retryable = false): [Delivery, Actor] => [
  { type: "DeliveryRefused", data: { retryable, code: "550", message: "550 no such user" } },
  deliver,
];
export const unknown: [Delivery, Actor] = [{ type: "DeliveryUnknown", data: { message: "connection lost" } }, deliver];
export const settled = (outcome: "accepted" | "refused" | "unconfirmed"): [Delivery, Actor] => [
  { type: "DeliverySettled", data: { outcome, evidence: "the provider's log", draftId: "draft" } },
  deliver,
];
export const abandoned: [Delivery, Actor] = [
  { type: "DeliveryAbandoned", data: { draftId: "draft", because: "no connection" } },
  deliver,
];
export const bounced: [Delivery, Actor] = [{ type: "DeliveryBounced", data: report }, deliver];
export const delivered: [Delivery, Actor] = [{ type: "DeliveryDelivered", data: report }, deliver];
export const sentBy = (attemptId = "attempt 1"): [HistoryEvent, Actor] => [drafts.sent(attemptId), deliver];
