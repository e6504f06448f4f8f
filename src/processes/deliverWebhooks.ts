import type { Dependencies } from "#src/commands/dependencies.ts";
import { requireNotPaused } from "#src/commands/installation.ts";
import { disableWebhook, signingSecrets } from "#src/commands/webhooks.ts";
import {
  type AnsweredAttempt,
  type AttemptResult,
  type BegunDelivery,
  type NewDelivery,
  skipError,
  type WebhookDeliveries,
} from "#src/platform/webhooks/deliveries.ts";
import { isDelivered, type WebhookAnswer, type WebhookSender } from "#src/platform/webhooks/sender.ts";
import { Rejected } from "#streams/decider.ts";
import type { Webhook } from "#streams/webhook/decider.ts";
import { nextTryAfterMs } from "#streams/webhook/retrySchedule.ts";
import type { Process, ProcessContext, RetryLater } from "./process.ts";

export type DeliverWebhooksOptions = {
  deliveries: WebhookDeliveries;
  sender: WebhookSender;
  /** Seconds before each further try; after the last one a delivery has failed. */
  retrySeconds: readonly number[];
};

const name = "deliverWebhooks";

/** Milliseconds after which a webhook's queue yields to other queues. */
const turnMs = 1_000;
/**
 * Milliseconds that a running try may still take when the instance shuts down. After that it is aborted, and another instance repeats it.
 */
const stopGraceMs = 3_000;
/**
 * Milliseconds for which a try that was begun may still be sent. If the instance was suspended for longer, another instance may have made
 * the next try, so this one is not sent.
 */
const goodForMs = 3_000;
/** Maximum number of tries, `recordAgainMs` apart, to record a receiver's response while PostgreSQL is briefly unreachable. */
const recordTries = 20;
const recordAgainMs = 500;

/** Returns the timer that wakes a queue. A queue contains the deliveries of one webhook about one draft, thread or domain. */
export const deliveryTimer = ({
  webhook_id,
  subject,
  workspace_id,
  event_id,
}: Pick<NewDelivery, "webhook_id" | "subject" | "workspace_id" | "event_id">) => ({
  ...{ process: name, key: `${webhook_id} ${subject}`, workspace: workspace_id, name: "deliver" },
  payload: { workspaceId: workspace_id, correlationId: event_id, causationId: event_id },
});

/** Sends queued deliveries to their receivers, in order per webhook and subject. A slow or dead receiver delays only its own queue. */
export function deliverWebhooks(deps: Dependencies, options: DeliverWebhooksOptions): Process {
  const { deliveries, sender, retrySeconds } = options;

  async function deliverAll(key: string, context: ProcessContext): Promise<RetryLater | undefined> {
    const [webhookId, subject] = key.split(" ") as [string, string];
    const { signal, timers } = context;
    const cutting = abortedLater(signal, stopGraceMs);
    const beganAt = deps.clock.monotonic();
    while (!signal.aborted) {
      const { state: webhook } = await deps.webhooks.load(webhookId);
      if (webhook.deleted || webhook.settings.status !== "active") {
        const { disabledBecause: because } = webhook;
        await deliveries.endUnsent(webhookId, because !== null && !webhook.deleted ? skippedFor(because) : canceled);
        return undefined;
      }
      await requireNotPaused(deps);
      const askedAt = deps.clock.monotonic();
      const next = await deliveries.begin({ webhookId, subject });
      if (next === undefined) return undefined;
      if ("dueInMs" in next) {
        // The name differs from that of the timer that wakes the queue, so that deliveries queued meanwhile are not postponed.
        await timers.set({ key, name: "again", inMs: Math.ceil(next.dueInMs) });
        return undefined;
      }
      if (deps.clock.monotonic() - askedAt > goodForMs) break;
      const { status } = await deliver(next, { webhookId, webhook, cutting, context });
      if (status !== "again" && deps.clock.monotonic() - beganAt > turnMs) break;
    }
    return { againInMs: 0 };
  }

  type DeliveryTarget = { webhookId: string; webhook: Webhook; cutting: AbortSignal; context: ProcessContext };

  async function deliver(delivery: BegunDelivery, to: DeliveryTarget): Promise<AttemptResult> {
    const at = deps.clock.now();
    const startedAt = deps.clock.monotonic();
    const answer = await post(delivery, to, at);
    const duration_ms = Math.round(deps.clock.monotonic() - startedAt);
    const { status: response_status, body: response_body, error } = answer;
    const attempt = { at: at.toISOString(), response_status, response_body, error, duration_ms };
    if (answer.status === 410) await disable(delivery, to);
    const verdict = verdictOn(delivery, { answer, cutting: to.cutting });
    await settle(delivery.id, attempt, verdict);
    if (answer.status === 410) await deliveries.endUnsent(to.webhookId, skippedFor(gone));
    return verdict;
  }

  async function post({ event_id: id, body }: BegunDelivery, to: DeliveryTarget, at: Date): Promise<WebhookAnswer> {
    const { webhookId, webhook, cutting } = to;
    let secrets: string[];
    try {
      secrets = signingSecrets(deps, { webhookId, webhook }, at);
    } catch (error) {
      deps.log?.warn?.({ err: error, webhook: webhookId }, "cannot decrypt a webhook's secret");
      return { status: null, error: "the webhook's secret cannot be decrypted: rotate it", body: null };
    }
    return sender.post({ url: webhook.settings.url, id, body, secrets, at }, cutting);
  }

  function verdictOn(
    { attempt }: BegunDelivery,
    { answer, cutting }: { answer: WebhookAnswer; cutting: AbortSignal },
  ): AttemptResult {
    if (isDelivered(answer)) return { status: "delivered" };
    if (answer.status === 410) return { status: "failed" };
    if (answer.status === null && cutting.aborted) return { status: "interrupted" };
    const afterMs = nextTryAfterMs(attempt, retrySeconds, spread());
    return afterMs === null ? { status: "failed" } : { status: "again", afterMs };
  }

  /** Returns a random number from 0 to 1, which spreads retries over time. */
  const spread = (): number => deps.ids.random(2).readUInt16BE() / 65_536;

  async function disable({ event_id }: BegunDelivery, { webhookId, context }: DeliveryTarget): Promise<void> {
    const cause = { ...context.cause, correlationId: event_id, causationId: event_id };
    await disableWebhook(deps, { webhookId, because: gone }, cause).catch((error) => {
      // If the webhook was deleted meanwhile, there is nothing to disable.
      if (!(error instanceof Rejected)) throw error;
    });
  }

  async function settle(id: string, attempt: AnsweredAttempt, verdict: AttemptResult): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await deliveries.settle(id, attempt, verdict);
      } catch (error) {
        if (tries === recordTries || verdict.status === "interrupted") throw error;
        await new Promise((resolve) => setTimeout(resolve, recordAgainMs));
      }
    }
  }

  return {
    name,
    // This process does not read the log, because queueWebhooks fills its queues.
    begins: "now",
    categories: [],
    keyOf: ({ stream }) => stream,
    on: {},
    concurrency: 64,
    ownerConcurrency: 8,
    givingUp: "never",
    onTimer: ({ key }, context) => deliverAll(key, context),
  };
}

/** Returns a signal that is aborted `ms` milliseconds after `signal`. */
function abortedLater(signal: AbortSignal, ms: number): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => void setTimeout(() => controller.abort(), ms);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return controller.signal;
}

const gone = "the receiver answered 410 Gone";
const canceled = { status: "canceled", error: "the webhook was deleted or disabled" } as const;
const skippedFor = (because: string) => ({ status: "skipped", error: skipError(because) }) as const;
