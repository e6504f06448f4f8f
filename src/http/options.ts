import type { Logger } from "pino";
import type { SlackReplies } from "#src/channels/slack/slackReplies.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Outbox } from "#src/mail/out/outbox.ts";
import type { Metrics } from "#src/platform/metrics/metrics.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { WebhookDeliveries } from "#src/platform/webhooks/deliveries.ts";
import type { ObstacleOf } from "./dependencies.ts";
import type { DescribedSetting } from "./docs/tables.ts";
import type { Rates } from "./framework/rateLimits/rateLimits.ts";
import type { StrangerRates } from "./framework/rateLimits/strangers.ts";
import type { Parts } from "./health/readiness.ts";
import type { SendGridInboundOptions } from "./hooks/sendGrid/inbound.ts";
import type { TelegramHookOptions } from "./hooks/telegram.ts";

/** What the HTTP role is started with. */
export type HttpOptions = {
  deps: Dependencies;
  database: Database;
  store: EventStore;
  /** The outbox, if mail is caught instead of sent: then its pages are served. */
  outbox: Outbox | undefined;
  /** What callers show to see it; without it nobody is let in from outside this machine, nor in production. */
  outboxToken: string | undefined;
  production: boolean;
  webhookDeliveries: WebhookDeliveries;
  instanceId: string;
  logger: Logger;
  host: string;
  port: number;
  publicUrl: string;
  /** Under which names pages are answered beside `publicUrl`'s. */
  allowedHosts: readonly string[];
  /** How many proxies in front, or which, are believed about who asks; none by default. */
  trustProxy?: number | string[];
  /** How many connections there may be at once, and how many of them of one address; that second limit is not for a proxy in front, or this machine. */
  connections?: { inAll: number; perAddress: number };
  /** What callers from outside this machine show to be told the details of /readyz and /metrics. */
  metricsToken: string | undefined;
  checkResponses: boolean;
  rateLimits: Rates & StrangerRates & { console: number | "off" };
  /** Every setting, for /docs/operations. */
  settings: readonly DescribedSetting[];
  /** How long the answer of a POST under an Idempotency-Key is kept. */
  idempotencyHours: number;
  /** Why nothing can be answered from some read models now. */
  obstacleOf: ObstacleOf;
  /** The way in for mail that SendGrid posts. */
  /** `isFull`: whether a workspace holds too much unanswered mail to take more. */
  sendGridInbound: Pick<SendGridInboundOptions, "secrets" | "publicKey" | "isExpected" | "isDiskFull"> & {
    isFull(workspaceId: string): boolean;
  };
  /** The key that signs what SendGrid tells of mail that went out; without one it cannot tell. */
  sendGridEventsKey: string | undefined;
  /** What else has to be ready, beside the database and the event log. */
  parts: Parts;
  metrics: Metrics;
  /** What presses in Slack are proven by, and answered with. */
  slack: { signingSecret: string | undefined; replies: SlackReplies };
  telegram: Pick<TelegramHookOptions, "updates" | "secrets">;
};
