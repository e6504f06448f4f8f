import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "dotenv";
import { usualRetrySeconds } from "#streams/webhook/retrySchedule.ts";
import { crashPoints } from "./crashPoints.ts";
import { developmentKeys } from "./secrets/developmentKeys.ts";
import {
  createReader,
  dnsServer,
  domainName,
  Expected,
  hostName,
  httpUrl,
  integer,
  keyRing,
  listOf,
  mailAddress,
  oneOf,
  type Parser,
  type Reader,
  rate,
  text,
  url,
} from "./settings.ts";
import { StartError } from "./startError.ts";

export const roles = ["api", "projections", "processes", "smtp"] as const;
export type Role = (typeof roles)[number];

export type Config = ReturnType<typeof loadConfig>;

type Environment = Record<string, string | undefined>;

/**
 * Every setting of the service, typed, from the environment and, for what that leaves open, the file `.env`. Throws StartError with a list of
 * everything that is wrong.
 */
export function loadConfig(environment: Environment = surroundings()) {
  const reader = createReader(environment);
  const settings = settingsFrom(reader);
  requireConsistent(settings, reader);
  if (reader.problems.length > 0)
    throw new StartError(`The settings are wrong:\n${reader.problems.map((problem) => `  - ${problem}`).join("\n")}`);
  return { ...settings, secretsKeys: settings.secretsKeys ?? developmentKeys(settings.dataDir) };
}

function surroundings(): Environment {
  return { ...dotenv(), ...Object.fromEntries(Object.entries(process.env).filter(([, value]) => value?.trim())) };
}

function dotenv(): Environment {
  try {
    return parse(readFileSync(".env"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new StartError(`The file .env cannot be read: ${(error as Error).message}.`);
  }
}

function settingsFrom({ read, given }: Reader) {
  const environment = read("NODE_ENV", oneOf("development", "test", "production"), "development");
  const production = environment === "production";
  const port = read("PORT", integer(0, 65_535), 8080);
  const publicUrl = read("PUBLIC_URL", httpUrl, `http://localhost:${port}`);
  const sandboxDomain = read("SANDBOX_DOMAIN", domainName, production ? null : "agents.localhost");
  const databaseUrl = read("DATABASE_URL", url("postgres", "postgresql"), undefined);
  const day = 86_400;
  return {
    production,
    /** Under test every answer is held against its documentation. */
    checkResponses: environment === "test",
    /** npm sets this for whatever it runs, and for what that starts. */
    startedByNpm: given("npm_lifecycle_event"),
    logLevel: read("LOG_LEVEL", oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent"), "info"),
    roles: new Set<Role>(read("ROLES", listOf(oneOf(...roles)), [...roles])),
    host: read("HOST", hostName, "127.0.0.1"),
    port,
    publicUrl,
    /** Absolute. */
    dataDir: resolve(read("DATA_DIR", text, "data")),
    /** Undefined: the embedded PostgreSQL. */
    databaseUrl,
    databaseOwnerUrl: read("DATABASE_OWNER_URL", url("postgres", "postgresql"), databaseUrl),
    /** Undefined: the event log is in PostgreSQL. */
    eventStoreUrl: read("EVENT_STORE_URL", eventStoreUrl, undefined),
    secretsKeys: read("SECRETS_KEYS", keyRing, undefined),
    mailProvider: read("MAIL_PROVIDER", oneOf("outbox", "smtp", "sendgrid"), "outbox"),
    smtpUrl: read("SMTP_URL", url("smtp", "smtps"), undefined),
    /** 0: no receiver. */
    smtpInPort: read("SMTP_IN_PORT", integer(0, 65_535), 2525),
    smtpInHost: read("SMTP_IN_HOST", hostName, "127.0.0.1"),
    inboundMxHost: read("INBOUND_MX_HOST", hostName, "localhost"),
    /** Whose SPF record lists the servers mail leaves from; null: it leaves from the host of inboundMxHost. */
    spfInclude: read("SPF_INCLUDE", domainName, null),
    /** Undefined: the system's. */
    dnsServers: read("DNS_SERVERS", listOf(dnsServer), undefined),
    sandboxDomain,
    approvalsFrom: read("APPROVALS_FROM", mailAddress, `approvals@${sandboxDomain ?? new URL(publicUrl).hostname}`),
    sendgrid: {
      apiKey: read("SENDGRID_API_KEY", text, undefined),
      baseUrl: read("SENDGRID_BASE_URL", httpUrl, "https://api.sendgrid.com"),
      eventPublicKey: read("SENDGRID_EVENT_PUBLIC_KEY", text, undefined),
      inboundPublicKey: read("SENDGRID_INBOUND_PUBLIC_KEY", text, undefined),
      inboundSecret: read("SENDGRID_INBOUND_SECRET", text, undefined),
    },
    telegram: {
      apiRoot: read("TELEGRAM_API_ROOT", httpUrl, "https://api.telegram.org"),
      mode: read("TELEGRAM_MODE", oneOf("auto", "webhook", "polling"), "auto"),
    },
    slack: {
      signingSecret: read("SLACK_SIGNING_SECRET", text, undefined),
      allowedHosts: read("SLACK_ALLOWED_HOSTS", listOf(hostName), ["hooks.slack.com"]),
    },
    stripe: {
      secretKey: read("STRIPE_SECRET_KEY", text, undefined),
      webhookSecret: read("STRIPE_WEBHOOK_SECRET", text, undefined),
      apiBase: read("STRIPE_API_BASE", httpUrl, undefined),
      prices: {
        proMonthly: read("STRIPE_PRICE_PRO_MONTHLY", text, undefined),
        proAnnual: read("STRIPE_PRICE_PRO_ANNUAL", text, undefined),
        agencyMonthly: read("STRIPE_PRICE_AGENCY_MONTHLY", text, undefined),
        agencyAnnual: read("STRIPE_PRICE_AGENCY_ANNUAL", text, undefined),
      },
    },
    /** Requests a minute (decisions 12); undefined for /auth: as each of its routes has it. */
    rateLimits: {
      read: read("RATE_LIMIT_READ", rate, 60),
      write: read("RATE_LIMIT_WRITE", rate, 20),
      send: read("RATE_LIMIT_SEND", rate, 10),
      notify: read("RATE_LIMIT_NOTIFY", rate, 10),
      test_email: read("RATE_LIMIT_TEST_EMAIL", rate, 10),
      auth: read("RATE_LIMIT_AUTH", rate, undefined),
    },
    notifyThrottleSeconds: read("NOTIFY_THROTTLE_SECONDS", integer(0, day), 60),
    /** Longer than any hand-over lasts: one that has not said how it ended by then was cut off. */
    handOverSeconds: read("HAND_OVER_SECONDS", integer(1, day), 90),
    deliveryConfirmSeconds: read("DELIVERY_CONFIRM_SECONDS", integer(1, day), 900),
    approvalLinkHours: read("APPROVAL_LINK_HOURS", integer(1, 8_760), 72),
    idempotencyHours: read("IDEMPOTENCY_HOURS", integer(1, 8_760), 24),
    webhookRetrySeconds: read("WEBHOOK_RETRY_SECONDS", listOf(integer(0, 30 * day)), [...usualRetrySeconds]),
    smtpRetrySeconds: read("SMTP_RETRY_SECONDS", listOf(integer(0, 30 * day)), [60, 300, 900, 3_600]),
    /** While pending in its first hour, while pending later, once verified. */
    domainCheckSeconds: read("DOMAIN_CHECK_SECONDS", threeOf(integer(1, 30 * day)), [30, 600, 86_400] as [
      number,
      number,
      number,
    ]),
    webhookAllowedHosts: read("WEBHOOK_ALLOWED_HOSTS", listOf(hostName), []),
    /** From domains whose mail counts as proven where it is handed in on this machine. Development only. */
    devProvenDomains: read("DEV_PROVEN_DOMAINS", listOf(domainName), []),
    crashAt: read("CRASH_AT", crashAt, undefined),
  };
}

const eventStoreUrl: Parser<string> = (value) => {
  // Several hosts, as a cluster has them, are no URL to the parser of URLs.
  if (!/^(esdb|kurrentdb|kdb)(\+discover)?:\/\/\S+$/.test(value)) throw new Expected("a URL esdb://… or kurrentdb://…");
  return value;
};

const threeOf =
  (item: Parser<number>): Parser<[number, number, number]> =>
  (value) => {
    const [first, second, third, ...more] = listOf(item)(value);
    if (first === undefined || second === undefined || third === undefined || more.length > 0) {
      throw new Expected("three numbers of seconds, comma separated");
    }
    return [first, second, third];
  };

const crashAt: Parser<string> = (value) => {
  if (
    !crashPoints.some(
      (point) => value === point || (value.startsWith(`${point}:`) && /^\d+$/.test(value.slice(point.length + 1))),
    )
  )
    throw new Expected(`<point> or <point>:n, the point one of ${crashPoints.join(", ")}`);
  return value;
};

/** What the settings say together. */
function requireConsistent(settings: ReturnType<typeof settingsFrom>, { given, wrong }: Reader): void {
  const { mailProvider, production } = settings;
  if (mailProvider === "smtp" && !given("SMTP_URL")) wrong("SMTP_URL has to be set with MAIL_PROVIDER=smtp.");
  if (mailProvider === "sendgrid") wrong("MAIL_PROVIDER=sendgrid is not offered by this version: set outbox or smtp.");
  if (given("DATABASE_OWNER_URL") && !given("DATABASE_URL")) wrong("DATABASE_OWNER_URL needs DATABASE_URL beside it.");
  if (!production) return;
  if (!given("SECRETS_KEYS"))
    wrong("SECRETS_KEYS has to be set in production: its keys are not made in DATA_DIR there.");
  if (!given("MAIL_PROVIDER"))
    wrong("MAIL_PROVIDER has to be set in production: mail is caught in the outbox only where that is asked for.");
  if (given("CRASH_AT")) wrong("CRASH_AT is refused in production.");
  if (given("DEV_PROVEN_DOMAINS")) wrong("DEV_PROVEN_DOMAINS is refused in production.");
}
