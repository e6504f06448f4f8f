import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { installationNow } from "#src/commands/installation.ts";
import { disableWebhook, signingSecrets } from "#src/commands/webhooks.ts";
import type { Attempt, Busy, Claim, Verdict, WebhookDeliveries } from "#src/webhooks/deliveries.ts";
import { isDelivered, type WebhookAnswer, type WebhookSender } from "#src/webhooks/sender.ts";
import { Rejected } from "#streams/decider.ts";
import type { Webhook } from "#streams/webhook/decider.ts";
import { nextTryAfterMs } from "#streams/webhook/retrySchedule.ts";

export type DeliverWebhooksOptions = {
  deps: Dependencies;
  deliveries: WebhookDeliveries;
  sender: WebhookSender;
  /** Seconds before each further try; after the last one a delivery has failed. */
  retrySeconds: readonly number[];
  log: { warn(details: object, message: string): void };
  /**
   * Deliveries under way at once (default 64), of one workspace (default 32) and of one webhook (default 8): receivers that are slow or dead
   * hold up nobody else for long, however many webhooks a workspace has.
   */
  concurrency?: number;
  perWorkspace?: number;
  perWebhook?: number;
};

/** Brings what is queued to its receivers. Any number of instances do so beside each other. */
export type DeliverWebhooks = {
  start(): void;
  /** Something may be due. */
  wake(): void;
  /** Begins nothing more, lets what is under way end for a moment, then cuts it off: it is tried again elsewhere. */
  stop(): Promise<void>;
};

const lookEveryMs = 250;
const pruneEveryMs = 3_600_000;
const stopGraceMs = 3_000;
/** What lay in hand for longer, in an instance that was suspended, is another's by now. */
const claimGoodForMs = 3_000;
/** A try may be recorded for as long as nobody else can have begun the next one. */
const recordTries = 20;
const recordAgainMs = 500;

export function deliverWebhooks(options: DeliverWebhooksOptions): DeliverWebhooks {
  const { deps, deliveries, sender, retrySeconds, log } = options;
  const { concurrency = 64, perWorkspace = 32, perWebhook = 8 } = options;
  const running = new Set<Promise<void>>();
  /** By webhook. */
  const busy = new Map<string, Busy>();
  const stopping = new AbortController();
  const cutting = new AbortController();
  let endNap = (): void => {};
  let woken = false;
  let prunedAt = Number.NEGATIVE_INFINITY;
  let loop: Promise<void> | undefined;

  function wake(): void {
    woken = true;
    endNap();
  }

  async function nap(): Promise<void> {
    if (!woken && !stopping.signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, lookEveryMs);
        endNap = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    woken = false;
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      let taken = 0;
      try {
        taken = await takeOn();
        await prune();
      } catch (error) {
        log.warn({ err: error }, "cannot look up webhook deliveries, retrying");
      }
      if (taken === 0) await nap();
    }
  }

  async function takeOn(): Promise<number> {
    const limit = concurrency - running.size;
    const full = [...busy.values()].filter(({ count }) => count >= perWebhook).map((each) => each.webhook_id);
    if (limit <= 0 || !(await deliveries.areDue(full))) return 0;
    if ((await installationNow(deps)).paused) return 0;
    const askedAt = deps.clock.monotonic();
    const claims = await deliveries.claim({ limit, perWebhook, perWorkspace, busy: [...busy.values()] });
    for (const claim of claims) begin(claim, askedAt);
    return claims.length;
  }

  function begin(claim: Claim, askedAt: number): void {
    const { webhook_id, workspace_id } = claim;
    const own = busy.get(webhook_id) ?? { webhook_id, workspace_id, count: 0 };
    own.count += 1;
    busy.set(webhook_id, own);
    const done = deliver(claim, askedAt)
      .catch((error) => log.warn({ err: error, delivery: claim.id }, "webhook delivery failed on our side"))
      .finally(() => {
        running.delete(done);
        own.count -= 1;
        if (own.count === 0) busy.delete(webhook_id);
        wake();
      });
    running.add(done);
  }

  async function deliver(claim: Claim, askedAt: number): Promise<void> {
    const [{ state: webhook }, { paused }] = await Promise.all([
      deps.webhooks.load(claim.webhook_id),
      installationNow(deps),
    ]);
    if (webhook.deleted || webhook.settings.status !== "active") {
      return deliveries.cancel(claim.webhook_id, "the webhook was deleted or disabled");
    }
    const at = deps.clock.now();
    if (paused) return settle(claim, notBegun(at), { status: "interrupted" });
    const startedAt = deps.clock.monotonic();
    if (startedAt - askedAt > claimGoodForMs) return;
    const answer = await post(claim, webhook, at);
    const duration_ms = Math.round(deps.clock.monotonic() - startedAt);
    const attempt = { at: at.toISOString(), response_status: answer.status, error: answer.error, duration_ms };
    if (answer.status === 410) await disable(claim);
    await settle(claim, attempt, verdictOn(claim, answer));
    if (answer.status === 410) await deliveries.cancel(claim.webhook_id, gone);
  }

  async function post(claim: Claim, webhook: Webhook, at: Date): Promise<WebhookAnswer> {
    const { event_id: id, body } = claim;
    let secrets: string[];
    try {
      secrets = signingSecrets(deps, { webhookId: claim.webhook_id, webhook }, at);
    } catch (error) {
      log.warn({ err: error, webhook: claim.webhook_id }, "cannot decrypt a webhook's secret");
      return { status: null, error: "the webhook's secret cannot be decrypted: rotate it" };
    }
    return sender.post({ url: webhook.settings.url, id, body, secrets, at }, cutting.signal);
  }

  function verdictOn(claim: Claim, answer: WebhookAnswer): Verdict {
    if (isDelivered(answer)) return { status: "delivered" };
    if (answer.status === 410) return { status: "failed" };
    if (answer.status === null && cutting.signal.aborted) return { status: "interrupted" };
    const afterMs = nextTryAfterMs(claim.attempts, retrySeconds, spread());
    return afterMs === null ? { status: "failed" } : { status: "again", afterMs };
  }

  /** From 0 to 1. */
  const spread = (): number => deps.ids.random(2).readUInt16BE() / 65_536;

  async function disable({ webhook_id, workspace_id, event_id }: Claim): Promise<void> {
    const actor = { kind: "system", id: "deliverWebhooks" } as const;
    const cause: Cause = { actor, workspaceId: workspace_id, correlationId: event_id, causationId: event_id };
    await disableWebhook(deps, { webhookId: webhook_id, because: gone }, cause).catch((error) => {
      // Deleted meanwhile: that is as good.
      if (!(error instanceof Rejected)) throw error;
    });
  }

  /** What a receiver said is not to be lost because the database is away for a moment. */
  async function settle(claim: Claim, attempt: Attempt, verdict: Verdict): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await deliveries.settle(claim, attempt, verdict);
      } catch (error) {
        if (tries === recordTries || cutting.signal.aborted) throw error;
        await new Promise((resolve) => setTimeout(resolve, recordAgainMs));
      }
    }
  }

  async function prune(): Promise<void> {
    if (deps.clock.monotonic() - prunedAt < pruneEveryMs) return;
    prunedAt = deps.clock.monotonic();
    await deliveries.prune();
  }

  return {
    start() {
      loop ??= run();
    },
    wake,
    async stop() {
      stopping.abort();
      wake();
      await loop;
      const cut = setTimeout(() => cutting.abort(), stopGraceMs);
      await Promise.all(running);
      clearTimeout(cut);
    },
  };
}

/** Of a delivery that was in hand when the operator paused: it is told when the pause ends, and this was no try. */
const notBegun = (at: Date): Attempt => ({
  at: at.toISOString(),
  response_status: null,
  error: "not begun: the operator has paused the service",
  duration_ms: null,
});

const gone = "the receiver answered 410 Gone";
