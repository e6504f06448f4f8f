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
import type { UnauthenticatedRates } from "./framework/rateLimits/unauthenticatedLimits.ts";
import type { Parts } from "./health/readiness.ts";
import type { SendGridInboundOptions } from "./hooks/sendGrid/inbound.ts";
import type { TelegramHookOptions } from "./hooks/telegram.ts";

/** Options of the HTTP role. */
export type HttpOptions = {
  deps: Dependencies;
  database: Database;
  store: EventStore;
  /** The outbox, if mail is caught instead of sent; its pages are then served. */
  outbox: Outbox | undefined;
  /** Token for the outbox; without it no access from outside this machine, nor in production. */
  outboxToken: string | undefined;
  production: boolean;
  webhookDeliveries: WebhookDeliveries;
  instanceId: string;
  logger: Logger;
  host: string;
  port: number;
  publicUrl: string;
  /** Host names for which pages are served, in addition to that of `publicUrl`. */
  allowedHosts: readonly string[];
  /** Number or addresses of trusted proxies, whose X-Forwarded-For is used; default: none. */
  trustProxy?: number | string[];
  /** Maximum number of connections in total and per address; trusted proxies and this machine are exempt from the second limit. */
  connections?: { inAll: number; perAddress: number };
  /** Token that callers from outside this machine need to see /metrics and the details of /readyz. */
  metricsToken: string | undefined;
  checkResponses: boolean;
  rateLimits: Rates & UnauthenticatedRates & { console: number | "off" };
  /** All settings, for /docs/settings. */
  settings: readonly DescribedSetting[];
  /** Hours for which the answer of a POST under an Idempotency-Key is kept. */
  idempotencyHours: number;
  /** Explains why some read models cannot be read now. */
  obstacleOf: ObstacleOf;
  /** Options for mail that SendGrid posts. `isFull`: true if a workspace has too much unprocessed mail to accept more. */
  sendGridInbound: Pick<SendGridInboundOptions, "secrets" | "publicKey" | "isExpected" | "isDiskFull"> & {
    isFull(workspaceId: string): boolean;
  };
  /** Key that signs SendGrid's delivery events; without it they are not accepted. */
  sendGridEventsKey: string | undefined;
  /** Parts that must be ready, in addition to the database and the event log. */
  parts: Parts;
  metrics: Metrics;
  /** The secret that Slack's requests are signed with, and the client that answers them. */
  slack: { signingSecret: string | undefined; replies: SlackReplies };
  telegram: Pick<TelegramHookOptions, "updates" | "secrets">;
};
