import type { Logger } from "pino";
import { projections } from "#projections/index.ts";
import type { Channels } from "./channels/channel.ts";
import { emailChannel } from "./channels/email/emailChannel.ts";
import { createSlackApi, type SlackApi } from "./channels/slack/slackApi.ts";
import { slackChannel } from "./channels/slack/slackChannel.ts";
import { telegramBots } from "./channels/telegram/botApi.ts";
import { postgresBotRegistry } from "./channels/telegram/postgresBotRegistry.ts";
import { telegramChannel } from "./channels/telegram/telegramChannel.ts";
import { webhookBase } from "./channels/telegram/updateMode.ts";
import { webhookSecrets } from "./channels/telegram/webhookSecret.ts";
import { approvalDecisions } from "./commands/approvals/approvalLinks.ts";
import { telegramUpdates } from "./commands/approvals/telegram/telegramUpdates.ts";
import type { Dependencies } from "./commands/dependencies.ts";
import { createStreamServices } from "./commands/handle.ts";
import { pauseInForce } from "./commands/installation.ts";
import { createMemoryRoom } from "./commands/memoryRoom.ts";
import { takeApprovalQuota } from "./commands/serviceMail/noticeQuota.ts";
import { sendNotice } from "./commands/serviceMail/sendNotice.ts";
import { remakeSnapshots } from "./commands/states/remakeSnapshots.ts";
import { createStates } from "./commands/states/states.ts";
import { accountMail } from "./commands/users/accountMail.ts";
import { keepAppendsAtomic } from "./eventStore/atomicBatches.ts";
import type { EventStore, LogRewound } from "./eventStore/eventStore.ts";
import { createEventStoreDbStore } from "./eventStore/eventStoreDb/store.ts";
import { measureAppends } from "./eventStore/measureAppends.ts";
import { createPostgresEventStore } from "./eventStore/postgres/store.ts";
import { upcastReads } from "./eventStore/upcasting.ts";
import { createMailAuthenticator } from "./mail/in/authentication/authenticator.ts";
import { withProvenDomains } from "./mail/in/authentication/devProven.ts";
import { createSpfEvaluator } from "./mail/in/authentication/spfEvaluator.ts";
import { createHeaderReader } from "./mail/in/headerReader.ts";
import { createMailParser } from "./mail/in/parse.ts";
import type { MailProvider } from "./mail/mailProvider.ts";
import { createMessageIds } from "./mail/out/messageIds.ts";
import { createOutboxProvider } from "./mail/out/outboxProvider.ts";
import { limitsOf } from "./mail/out/quota/notificationQuota.ts";
import { postgresNotificationQuota } from "./mail/out/quota/postgresNotificationQuota.ts";
import { createSendGridProvider } from "./mail/out/sendGrid/sendGridProvider.ts";
import { sendGridDomains } from "./mail/out/sendGrid/sendingDomains.ts";
import type { SendingDomains } from "./mail/out/sendingDomains.ts";
import { createSmtpProvider } from "./mail/out/smtpProvider.ts";
import { type WatchedProvider, watchProvider } from "./mail/watchProvider.ts";
import { argon2Hasher } from "./platform/accounts/argon2.ts";
import type { PasswordHasher } from "./platform/accounts/passwords.ts";
import { postgresLinks } from "./platform/accounts/postgresLinks.ts";
import { postgresPasswords } from "./platform/accounts/postgresPasswords.ts";
import { postgresSessions } from "./platform/accounts/postgresSessions.ts";
import { headFiles } from "./platform/audit/headFiles.ts";
import { type HttpWitnesses, httpWitnesses } from "./platform/audit/httpWitnesses.ts";
import { postgresHeads } from "./platform/audit/postgresHeads.ts";
import { postgresBlobs } from "./platform/blobs/postgresBlobs.ts";
import { rememberingBlobs } from "./platform/blobs/recentBlobs.ts";
import { type Clock, systemClock, systemIds } from "./platform/clock.ts";
import { createNodeResolver } from "./platform/dns/nodeResolver.ts";
import type { Metrics } from "./platform/metrics/metrics.ts";
import { prometheusMetrics } from "./platform/metrics/prometheus.ts";
import { stripeProcessor } from "./platform/payments/stripe/stripeProcessor.ts";
import { connectDatabase, type Database, type DatabaseUrls } from "./platform/postgres/database.ts";
import { createSharedClock } from "./platform/postgres/sharedClock.ts";
import { createUndiciPictureSource } from "./platform/publicWeb/undiciPictureSource.ts";
import { createKeyRing } from "./platform/secrets/keyRing.ts";
import { postgresSnapshots } from "./platform/snapshots/postgresSnapshots.ts";
import { ownRules } from "./platform/snapshots/rules.ts";
import { createCostlyWork } from "./platform/threadPool/costlyWork.ts";
import { createThreadPool, type ThreadPool } from "./platform/threadPool/threadPool.ts";
import type { WebhookDeliveries } from "./platform/webhooks/deliveries.ts";
import { createPostgresDeliveries } from "./platform/webhooks/postgresDeliveries.ts";
import type { WebhookSender } from "./platform/webhooks/sender.ts";
import { createUndiciSender } from "./platform/webhooks/undiciSender.ts";
import type { BotAttendance } from "./processes/attendTelegramBots.ts";
import { deliveryTimer } from "./processes/deliverWebhooks.ts";
import { readDepths } from "./runtime/projections/depths.ts";
import { createWaitFor, type WaitFor } from "./runtime/projections/waitFor.ts";
import { setImmediateTimers } from "./runtime/work/immediateTimers.ts";
import { commandSettings } from "./settings/commandSettings.ts";
import type { Config } from "./settings/config.ts";

/** All objects that commands, processes and routes depend on; each role of the service uses some of them. */
export type Composition = {
  database: Database;
  store: EventStore;
  provider: WatchedProvider;
  waitFor: WaitFor;
  metrics: Metrics;
  webhooks: { deliveries: WebhookDeliveries; sender: WebhookSender };
  /** Witnesses of the audit trees. */
  witnesses: HttpWitnesses;
  deps: Dependencies;
  /** The channels to approvers, by type. Shared by processes and hooks. */
  channels: Channels;
  /** Registry, clients and update handler of the Telegram bots. */
  telegram: BotAttendance;
  /** Client of Slack. */
  slack: SlackApi;
  /** Measures this machine's clock against PostgreSQL's, whose time all instances use. Must be awaited before any timer is due. */
  startClock(): Promise<void>;
  /** After an upgrade: rebuilds the snapshots of long streams whose rules have changed. Bounded; never fails. */
  remakeSnapshots(): Promise<void>;
  close(): Promise<void>;
};

/**
 * `clock`: default is this machine's, adjusted to PostgreSQL's time; a clock that a test drives is not adjusted. `threads`: a shared
 * pool, closed by its owner; default is a separate one. `channels`: overrides these channels. `hasher`: of passwords; default is Argon2id
 * with the service's own parameters. `onRewound`: called if the log has lost events that are known here.
 */
export function compose(
  config: Config,
  urls: DatabaseUrls,
  {
    logger,
    clock: driven,
    threads: lent,
    channels,
    hasher = argon2Hasher(),
    onRewound,
  }: {
    logger: Logger;
    clock?: Clock;
    threads?: ThreadPool;
    channels?: Partial<Channels>;
    hasher?: PasswordHasher;
    onRewound?: (error: LogRewound) => void;
  },
): Composition {
  const database = connectDatabase(urls, {
    onConnectionLost: (error) => logger.warn({ err: error }, "lost a connection to PostgreSQL"),
  });
  const shared = driven ? undefined : createSharedClock({ own: systemClock, sql: database, log: logger });
  const clock = driven ?? shared!;
  const unmeasured = keepAppendsAtomic(
    upcastReads(createStore(config, urls, { logger, ...(onRewound && { onRewound }) })),
  );
  const isPaused = async () => (await pauseInForce({ store: unmeasured })) !== undefined;
  const metrics = prometheusMetrics({
    depths: () =>
      readDepths({
        database,
        store: unmeasured,
        projections,
        isPaused,
      }),
    stateBytes: () => states.bytes(),
  });
  const store = measureAppends(unmeasured, { metrics, clock });
  const keyRing = createKeyRing(config.secretsKeys);
  const threads = lent ?? createThreadPool();
  const resolver = createNodeResolver({ servers: config.dnsServers });
  const authenticator = withProvenDomains(
    createMailAuthenticator({ resolver, clock, pool: threads }),
    config.devProvenDomains,
  );
  const monotonic = () => clock.monotonic();
  const provider = watchProvider(createProvider(config, database), { monotonic, log: logger });
  const waitFor = createWaitFor({ database, projections });
  const webhooks = {
    deliveries: createPostgresDeliveries(database, (tx, queues) => setImmediateTimers(tx, queues.map(deliveryTimer))),
    sender: createUndiciSender({ allowedHosts: config.webhookAllowedHosts, resolver }),
  };
  const witnesses = httpWitnesses(config.auditWitnesses);
  const pictures = createUndiciPictureSource({ allowedHosts: config.webhookAllowedHosts, resolver });
  const slack = createSlackApi({ ...config, resolver });
  const sendingDomains = createSendingDomains(config);
  const ids = systemIds;
  const messageIds = createMessageIds(...keyRing.deriveKeys("message-ids"));
  const snapshots = { kept: postgresSnapshots(database), rules: ownRules(), log: logger };
  const states = createStates({ store, snapshots });
  const silent = {
    ...createStreamServices({ store, clock, ids, states }),
    store,
    clock,
    ids,
    accounts: {
      sessions: postgresSessions({ database, clock, ids }),
      passwords: postgresPasswords({ database, clock, hasher }),
      links: postgresLinks({ database, clock, ids }),
    },
    blobs: rememberingBlobs(postgresBlobs(database)),
    auditHeads: postgresHeads(database, headFiles(config.auditHeadDir)),
    reads: database.reads,
    projected: waitFor.projected,
    headerReader: createHeaderReader((id) => messageIds.open(id) !== undefined),
    parser: createMailParser(threads),
    costlyWork: createCostlyWork(threads),
    resolver,
    evaluateSpf: createSpfEvaluator(threads),
    authenticator,
    pictures,
    keyRing,
    payments: config.stripe && stripeProcessor({ ...config.stripe, clock }),
    messageIds,
    log: logger,
    mailRoom: createMemoryRoom(64 * 1024 * 1024),
    countLostMail: metrics.mailLost,
    mailMeasure: measureOf(config, database),
    countWithheld: metrics.mailWithheld,
    sendingDomains,
    settings: { ...commandSettings(config), recordsOf: sendingDomains?.provider },
  };
  const deps: Dependencies = { ...silent, accountMail: accountMail(silent, provider) };
  const telegram = telegramOf(config, deps, database);
  return {
    database,
    store,
    provider,
    waitFor,
    metrics,
    webhooks,
    witnesses,
    deps,
    channels: {
      ...channelsOf(deps, provider, telegram.bots),
      slack: slackChannel({ api: slack, signingSecret: config.slackSigningSecret }),
      ...channels,
    },
    slack,
    telegram,
    async startClock() {
      await shared?.start();
    },
    remakeSnapshots: () => remakeSnapshots(states, snapshots, { clock }),
    async close() {
      shared?.stop();
      waitFor.close();
      await deps.accountMail.close();
      await Promise.all([provider.close(), lent ? undefined : threads.close()]);
      await Promise.all([
        webhooks.sender.close(),
        pictures.close(),
        sendingDomains?.close(),
        slack.close(),
        witnesses.close(),
      ]);
      await states.close();
      await store.close();
      await database.close();
    },
  };
}

function createStore(
  config: Config,
  urls: DatabaseUrls,
  told: { logger: Logger; onRewound?: (error: LogRewound) => void },
): EventStore {
  return config.eventStoreUrl
    ? createEventStoreDbStore({ connectionString: config.eventStoreUrl, logger: told.logger })
    : createPostgresEventStore({ connectionString: urls.serviceUrl, ...told });
}

function createProvider(config: Config, database: Database): MailProvider {
  if (config.mailProvider === "smtp")
    return createSmtpProvider(config.smtpUrl as string, { room: { connections: config.smtpConnections } });
  if (config.mailProvider === "sendgrid")
    return createSendGridProvider({
      apiKey: config.sendgridApiKey as string,
      baseUrl: config.sendgridBaseUrl,
      room: { connections: config.smtpConnections },
    });
  return createOutboxProvider(database);
}

function telegramOf(config: Config, deps: Dependencies, database: Database): BotAttendance {
  const bots = telegramBots({ apiRoot: config.telegramApiRoot });
  const registry = postgresBotRegistry(database);
  return {
    bots,
    registry,
    updates: telegramUpdates(deps, { bots, registry, decisions: approvalDecisions(deps) }),
    secrets: webhookSecrets(deps.keyRing.deriveKeys("telegram-webhook")),
    webhookBase: webhookBase(config.telegramMode, config.publicUrl),
  };
}

type Bots = BotAttendance["bots"];

const channelsOf = (deps: Dependencies, provider: MailProvider, bots: Bots): Omit<Channels, "slack"> => ({
  email: emailChannel(
    (asked, mail) => sendNotice(deps, provider, { kind: "approval", ...asked, ...mail }),
    (request) => takeApprovalQuota(deps, request),
  ),
  telegram: telegramChannel({ bots }),
});

/** Client of the provider that supplies and validates domains' records and receives their mail; undefined if the service does both. */
function createSendingDomains(config: Config): SendingDomains | undefined {
  const { mailProvider, publicUrl, sendgridInboundSecret } = config;
  if (mailProvider !== "sendgrid") return undefined;
  return sendGridDomains({
    apiKey: config.sendgridApiKey as string,
    baseUrl: config.sendgridBaseUrl,
    inboundUrl: sendgridInboundSecret && `${publicUrl}/hooks/sendgrid/inbound/${sendgridInboundSecret[0]}`,
    inboundPublicKey: config.sendgridInboundPublicKey,
  });
}

const measureOf = ({ serviceMailPerHour }: Config, database: Database) =>
  serviceMailPerHour === "off" ? undefined : postgresNotificationQuota(database, limitsOf(serviceMailPerHour));
