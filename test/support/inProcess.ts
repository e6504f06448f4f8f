import { randomUUID } from "node:crypto";
import { type Logger, pino } from "pino";
import { projections } from "#projections/index.ts";
import type { ReadModel } from "#projections/names.ts";
import type { Channels } from "#src/channels/channel.ts";
import { createApiKey } from "#src/commands/apiKeys.ts";
import { createIdentity, type NewIdentity } from "#src/commands/identities/identities.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { createWorkspace } from "#src/commands/workspaces.ts";
import { compose } from "#src/compose.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { argon2Hasher } from "#src/platform/accounts/argon2.ts";
import { startService } from "#src/service.ts";
import { loadConfig } from "#src/settings/config.ts";
import { adjustableClock } from "./adjustableClock.ts";
import { asking } from "./asking.ts";
import { caughtMails } from "./caughtMails.ts";
import { operator } from "./cause.ts";
import { createTestDatabase } from "./postgres.ts";
import { settingsOn } from "./settings.ts";
import { sharedThreads } from "./sharedThreads.ts";

/** The real hasher with the least work: a password costs the service 30 ms, and tests have hundreds of users. */
const cheapHasher = argon2Hasher({ memoryCost: 64, timeCost: 1 });

export type InProcess = Awaited<ReturnType<typeof startInProcess>>;
export type Workspace = Awaited<ReturnType<InProcess["workspace"]>>;
export type Identity = Awaited<ReturnType<InProcess["identity"]>>;

/**
 * Runs every role of the service in this process, on its own database, listening on a real socket. `log` gets each line of its log, or
 * `logger` replaces its logger; `channels` override its own.
 */
export async function startInProcess(
  environment: Record<string, string> = {},
  {
    log,
    logger: given,
    channels = {},
  }: { log?: (line: string) => void; logger?: Logger; channels?: Partial<Channels> } = {},
) {
  const testDatabase = await createTestDatabase({ readModels: true });
  const limits = [
    "READ",
    "WRITE",
    "SEND",
    "NOTIFY",
    "TEST_EMAIL",
    "BAD_KEY",
    "BAD_LINK",
    "DOCUMENT",
    "CONSOLE",
    "AUTH",
  ].map((name) => [`RATE_LIMIT_${name}`, "100000"]);
  const config = loadConfig({
    ...settingsOn(testDatabase),
    LOG_LEVEL: "error",
    PORT: "0",
    SMTP_IN_PORT: "0",
    ...Object.fromEntries(limits),
    ...environment,
  });
  const logger = given ?? (log ? pino({ level: config.logLevel }, { write: log }) : pino({ level: config.logLevel }));
  const clock = adjustableClock();
  const lent = { clock, threads: sharedThreads(), channels, hasher: cheapHasher };
  const composition = compose(config, testDatabase, { logger, ...lent });
  const service = await startService(config, composition, { instanceId: randomUUID(), logger });
  const { deps, database, store } = composition;
  const url = service.url as string;

  const caughtUp = async () => {
    const of = projections.map(({ name }) => name as ReadModel);
    const head = await store.head();
    await until(() => deps.projected(head, { of }));
  };

  /** Waits until every accepted mail is filed and can be read. */
  const filed = () =>
    until(async () => {
      await caughtUp();
      const { rows } = await database.reads.ofAll.query(unfiled);
      return rows.length === 0;
    });

  return {
    url,
    /** null unless SMTP_IN_PORT is set. */
    smtpPort: service.smtpPort,
    /** URLs of its database, for another process. */
    urls: { serviceUrl: testDatabase.serviceUrl, ownerUrl: testDatabase.ownerUrl },
    deps,
    /** The clock of all its roles. */
    clock,
    database,
    store,
    outbox: caughtMails(database),
    webhookDeliveries: composition.webhooks.deliveries,
    caughtUp,
    filed,
    /** Makes a workspace with a key of every scope, or of the given ones. */
    async workspace({ scopes = allScopes as readonly string[] } = {}) {
      const { workspaceId } = await createWorkspace(
        deps,
        { name: "Test", plan: "agency", betaOverride: true },
        operator(),
      );
      const keyOf = async (those: readonly string[]) => {
        const made = await createApiKey(deps, { workspaceId, name: "test key", scopes: those }, operator(workspaceId));
        await caughtUp();
        return made.key;
      };
      const key = await keyOf(scopes);
      return { id: workspaceId, key, keyOf, ask: asking(url, key) };
    },
    async identity(workspaceId: string, settings: Partial<NewIdentity> = {}) {
      const localPart = settings.localPart ?? `agent-${randomUUID().slice(0, 8)}`;
      const sandbox = { workspaceId, domainId: sandboxDomainId(workspaceId), displayName: "Support" };
      const identity: NewIdentity = { ...sandbox, ...settings, localPart, mayLoosen: true };
      const { identityId } = await createIdentity(deps, identity, operator(workspaceId));
      await caughtUp();
      const { state } = await deps.identities.load(identityId);
      return { id: identityId, address: state.emailAddress };
    },
    /** Accepts a mail as the SMTP receiver would, and waits until it is on its thread and can be read. */
    async deliver(
      to: string,
      raw: string | Buffer,
      { from = "ann@customer.example", ip = "192.0.2.1", helo = "mx.customer.example" } = {},
    ) {
      const { resolve, accept } = createReception(deps);
      const recipient = await resolve(to);
      if (!recipient) throw new Error(`${to} is nobody's address`);
      await accept({
        recipients: [{ recipient, address: to }],
        from,
        raw: Buffer.from(raw),
        remote: { ip, helo },
      });
      await filed();
    },
    async stop() {
      await service.stop();
      await composition.close();
      await testDatabase.drop();
    },
  };
}

const unfiled = `select 1 from inbound where disposition = 'received' or filed_position is null
  and disposition in ('threaded', 'quarantined', 'held_over_quota', 'held_identity_disabled') limit 1`;

/** Makes a plain mail; `inReplyTo`: the ids of the mails that it answers. */
export const mail = ({
  id,
  from = "Ann Example <ann@customer.example>",
  to = "agent@agents.localhost",
  subject = "My order",
  inReplyTo,
  text = "Where is it?",
}: {
  id: string;
  from?: string;
  to?: string;
  subject?: string;
  inReplyTo?: string | readonly string[] | undefined;
  text?: string | undefined;
}): string => {
  const answered =
    inReplyTo === undefined
      ? ""
      : [inReplyTo]
          .flat()
          .map((each) => `<${each}>`)
          .join(" ");
  return [
    `Message-ID: <${id}>`,
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${subject}`,
    "Date: Mon, 16 Nov 2026 10:00:00 +0000",
    ...(answered ? [`In-Reply-To: ${answered}`, `References: ${answered}`] : []),
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
    "",
    text,
    "",
  ].join("\r\n");
};

/** Polls until true, with growing pauses: polling takes CPU from the service in this process. */
export async function until(isSo: () => Promise<boolean>, timeoutMs = 90_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (let pauseMs = 20; !(await isSo()); pauseMs = Math.min(150, pauseMs * 1.5)) {
    if (Date.now() > deadline) throw new Error(`still not so after ${timeoutMs} ms: ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
