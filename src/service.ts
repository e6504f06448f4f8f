import type { Logger } from "pino";
import { unansweredMail } from "#projections/inbound/queries.ts";
import { projections } from "#projections/index.ts";
import { slackReplies } from "./channels/slack/slackReplies.ts";
import type { Dependencies } from "./commands/dependencies.ts";
import type { Cause } from "./commands/handle.ts";
import { createReception } from "./commands/inbound/receiveMail.ts";
import { pauseInstallation } from "./commands/installation.ts";
import type { Composition } from "./compose.ts";
import { Unavailable } from "./eventStore/eventStore.ts";
import type { HttpServer } from "./http/framework/server.ts";
import { startHttp } from "./http/index.ts";
import { type RoomForMail, watchRoomForMail } from "./mail/in/roomForMail.ts";
import { type Certificate, openCertificate } from "./mail/in/smtp/certificate.ts";
import { createSmtpReceiver, type SmtpReceiver } from "./mail/in/smtpReceiver.ts";
import { createOutbox } from "./mail/out/outbox.ts";
import { inBackground } from "./platform/postgres/database.ts";
import { type DiskRoom, databaseTooLarge, shortOfDisk, watchDiskRoom } from "./platform/postgres/diskRoom.ts";
import { StartError } from "./platform/startError.ts";
import { allProcesses } from "./processes/index.ts";
import { createProjectionRunner, type ProjectionRunner } from "./runtime/projections/projectionRunner.ts";
import { createReadiness } from "./runtime/projections/readiness.ts";
import { describeReadModels } from "./runtime/projections/stalled.ts";
import { createProcessRunner, type ProcessRunner } from "./runtime/work/runner.ts";
import { whyPlannerStalled } from "./runtime/work/stalled.ts";
import type { Config, ServiceRole } from "./settings/config.ts";
import { settingDescriptions } from "./settings/settings.ts";
import { contradictedTrees, type HeadClock, startHeadClock } from "./start/headClock.ts";
import { type RetentionClock, startRetention } from "./start/retention.ts";

/** The roles of one instance, running. */
export type Service = {
  url: string | null;
  smtpPort: number | null;
  /** Stops accepting work, waits until work in progress has ended, then stops everything else. */
  stop(): Promise<void>;
};

/**
 * Starts the roles of this instance, in the order of their dependencies. `alone`: no other instance can be working on this database, so
 * work of a killed instance is taken over at once. `dataDirectory`: of the embedded PostgreSQL, if that is used. Throws StartError.
 */
export async function startService(
  config: Config,
  composition: Composition,
  {
    instanceId,
    logger,
    alone = false,
    dataDirectory,
  }: { instanceId: string; logger: Logger; alone?: boolean; dataDirectory?: string | undefined },
): Promise<Service> {
  const { deps, channels, database, store, provider, telegram } = composition;
  if (config.startPaused) await startPaused(deps, logger);
  const readiness = createReadiness({
    ...{ database, store, projections, log: logger },
    failing: () => projectionRunner?.failing() ?? [],
  });
  const has = (role: ServiceRole) => config.roles.has(role);
  const receivesMail = has("smtp") && config.smtpInPort !== 0;
  const takesPosts = has("api") && config.sendgridInboundSecret !== undefined;
  const background = inBackground(database);
  let projectionRunner: ProjectionRunner | undefined;
  let processRunner: ProcessRunner | undefined;
  let http: { server: HttpServer; close(): Promise<void> } | undefined;
  let smtp: SmtpReceiver | undefined;
  let certificate: Certificate | undefined;
  let diskRoom: DiskRoom | undefined;
  let roomForMail: RoomForMail | undefined;
  let headClock: HeadClock | undefined;
  let retention: RetentionClock | undefined;

  const isFullOfMail = (workspaceId: string): boolean => roomForMail?.isFull(workspaceId) === true;

  async function stop(): Promise<void> {
    certificate?.close();
    await Promise.all([smtp?.close(), http?.close()]);
    diskRoom?.close();
    roomForMail?.close();
    // While the lanes are still leased to us: a send that gets its connection later would hand over what another instance works on by
    // then.
    provider.letNobodyIn?.();
    await Promise.all([processRunner?.stop(), headClock?.close(), retention?.close()]);
    await Promise.all([projectionRunner?.stop(), readiness.stop()]);
  }

  try {
    await composition.startClock();
    if (receivesMail || takesPosts) diskRoom = await watchDisk(config, composition, { dataDirectory, logger });
    if (has("projections")) {
      const { reached: onProjected, pauseUnlessAwaited } = composition.waitFor;
      projectionRunner = createProjectionRunner({
        ...{ store, database: background, projections, logger, instanceId, onProjected, pauseUnlessAwaited, alone },
      });
      await projectionRunner.start();
    }
    if (receivesMail || has("api")) {
      const [workspaceMb, allMb] = config.smtpInUnansweredMb;
      const limits = { workspaceMb, allMb };
      roomForMail = await watchRoomForMail(() => unansweredMail(database.reads), limits, { log: logger });
    }
    if (has("processes") || has("api") || receivesMail) await composition.remakeSnapshots();
    if (has("processes")) {
      headClock = startHeadClock(
        { ...deps, deliveries: composition.webhooks.deliveries, witnesses: composition.witnesses.all },
        { log: logger },
      );
      const { clock } = deps;
      retention = startRetention(
        { ...deps, database: background },
        { evaluations: config.retentionDaysEvaluations, outbox: config.retentionDaysOutbox },
        { log: logger },
      );
      const webhooks = { ...composition.webhooks, onQueued: () => processRunner?.wake() };
      const processes = allProcesses(deps, {
        ...{ provider, channels, telegram, instanceId, webhooks },
        ...config,
      });
      processRunner = createProcessRunner({
        ...{ store, database: background, clock, logger, instanceId, processes, alone },
        projected: (position, options) => deps.projected(position, options),
      });
      processRunner.start();
    }
    if (has("api")) {
      if (config.production && provider.name === "outbox" && config.outboxToken === undefined)
        logger.warn("mail is caught in the outbox, which nobody can open: set OUTBOX_TOKEN to look at it");
      await readiness.start();
      const { host, port, publicUrl, allowedHosts, trustProxy, metricsToken, outboxToken, production } = config;
      http = await startHttp({
        ...{ deps, database, store, instanceId, logger, host, port, publicUrl, allowedHosts, trustProxy },
        ...{ metricsToken, outboxToken, production },
        connections: { inAll: config.httpConnections[0]!, perAddress: config.httpConnections[1]! },
        webhookDeliveries: composition.webhooks.deliveries,
        outbox: provider.name === "outbox" ? createOutbox(database) : undefined,
        checkResponses: config.checkResponses,
        rateLimits: config.rateLimits,
        settings: settingDescriptions,
        idempotencyHours: config.idempotencyHours,
        metrics: composition.metrics,
        slack: { signingSecret: config.slackSigningSecret, replies: slackReplies(composition.slack) },
        sendGridInbound: {
          secrets: config.sendgridInboundSecret ?? [],
          publicKey: config.sendgridInboundPublicKey,
          isExpected: provider.name === "sendgrid",
          isDiskFull: () => diskRoom?.isFull() === true,
          isFull: isFullOfMail,
        },
        sendGridEventsKey: config.sendgridEventPublicKey,
        telegram,
        obstacleOf: readiness.obstacle,
        parts: {
          read_models: () => describeReadModels({ ...composition, readiness, runner: projectionRunner }),
          mail_provider: () => provider.trouble(),
          unanswered_mail: () => stillReady(roomForMail?.trouble()),
          audit_heads: async () => stillReady(await contradictedTrees(deps)),
          ...(processRunner && { processes: () => whyPlannerStalled(database) }),
          ...(receivesMail && { smtp: () => (smtp ? smtp.trouble() : "it is not started yet") }),
        },
      });
    }
    if (receivesMail) {
      const { smtpInPort: port, smtpInHost: host, smtpInRelays: relays } = config;
      const { smtpInProxy: proxied, smtpInXclient: xclient, smtpInBudget: budget } = config;
      certificate = await certificateOf(config, logger);
      smtp = await createSmtpReceiver({
        ...{ reception: createReception(deps), port, host, relays, proxied, xclient, logger },
        budget: { messages: budget[0], bytes: budget[1] * 1_000_000 },
        isDiskFull: () => diskRoom?.isFull() === true,
        isFull: isFullOfMail,
        metrics: composition.metrics,
        ...(certificate && { tls: certificate.pem }),
      });
      certificate?.watch(smtp.useCertificate);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: http?.server.url ?? null, smtpPort: smtp?.port ?? null, stop };
}

/** Opens the certificate of the mail receiver; undefined without one, which is unsuitable for receiving other people's mail. */
async function certificateOf(config: Config, log: Logger): Promise<Certificate | undefined> {
  const { smtpInTlsCert: certFile, smtpInTlsKey: keyFile, production } = config;
  if (certFile !== undefined && keyFile !== undefined) return openCertificate({ certFile, keyFile }, { log });
  if (production)
    log.warn("mail comes in unencrypted: set SMTP_IN_TLS_CERT and SMTP_IN_TLS_KEY, so that senders can start TLS");
  return undefined;
}

/** Reports trouble of a part without making the instance unready: it still works for all others. */
const stillReady = (trouble: string | undefined) => (trouble === undefined ? undefined : { ready: trouble });

/** Watches the disk: mail is what strangers can fill it with. */
async function watchDisk(
  { smtpInMinFreeMb, smtpInMaxDatabaseMb }: Config,
  { database }: Composition,
  { dataDirectory, logger: log }: { dataDirectory: string | undefined; logger: Logger },
): Promise<DiskRoom | undefined> {
  if (dataDirectory !== undefined) return watchDiskRoom(shortOfDisk(dataDirectory, smtpInMinFreeMb), { log });
  if (smtpInMaxDatabaseMb === undefined) return undefined;
  return watchDiskRoom(databaseTooLarge(database, smtpInMaxDatabaseMb), { log, everyMs: 30_000 });
}

/** Records that sending is paused, before anything that could send is started. Throws StartError if that fails. */
async function startPaused(deps: Dependencies, logger: Logger): Promise<void> {
  const startId = deps.ids.uuid();
  const cause: Cause = {
    actor: { kind: "operator", id: "START_PAUSED" },
    workspaceId: null,
    correlationId: startId,
    causationId: startId,
  };
  try {
    await pauseInstallation(deps, "started with START_PAUSED=true", cause);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    throw new StartError(`START_PAUSED=true cannot be recorded, because the event log is away: ${error.message}.`);
  }
  logger.warn(
    "START_PAUSED is true: nothing leaves until `npm run processes -- resume`; take the setting out before you resume",
  );
}
