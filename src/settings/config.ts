import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "dotenv";
import type { Static } from "typebox";
import { Value } from "typebox/value";
import { canBeCalled } from "../channels/telegram/updateMode.ts";
import { isLoopbackHost } from "../http/framework/trustedCallers.ts";
import { problemsOfSmtpUrl } from "../mail/out/smtpUrl/smtpUrl.ts";
import { namedWitness } from "../platform/audit/witnesses.ts";
import { domainOfAddress } from "../platform/dns/names.ts";
import { developmentKeys } from "../platform/secrets/developmentKeys.ts";
import { StartError } from "../platform/startError.ts";
import { billingInconsistencies, stripeIn } from "./billingSettings.ts";
import { expectedOf, trustedProxies, valueIn } from "./settingKinds.ts";
import { type roles, settings } from "./settings.ts";

export type ServiceRole = (typeof roles)[number];

export type Config = ReturnType<typeof loadConfig>;

type Environment = Record<string, string | undefined>;

/** SMTP_IN_PORT as smtpInPort. */
type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Name>;

type Declared = Static<typeof settings>;
type Settings = { [Name in keyof Declared as CamelCase<Name>]: Declared[Name] };

/**
 * Reads every setting of the service (src/settings/settings.ts), typed and in camel case, from the environment or else the file `.env`,
 * with values derived from them. Throws StartError with a list of every fault.
 */
export function loadConfig(environment: Environment = surroundings()) {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim()));
  const problems: string[] = [];
  const read = readSettings(given, problems);
  problems.push(...inconsistencies(read, given));
  if (problems.length > 0)
    throw new StartError(`The settings are wrong:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
  return completed(read, given);
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

/**
 * Reads the given settings, each checked by its declaration, and the defaults of all others. An empty value counts as not set: compose
 * files pass on empty ones.
 */
function readSettings(given: Environment, problems: string[]): Settings {
  const read = Object.entries(settings.properties).map(([name, kind]) => {
    const key = name.toLowerCase().replace(/_[a-z]/g, (start) => start[1]!.toUpperCase());
    const text = given[name]?.trim();
    if (text === undefined) return [key, (kind as { default?: unknown }).default];
    const value = valueIn(text, kind);
    if (Value.Check(kind, value)) return [key, Value.Decode(kind, value)];
    problems.push(`${name} is wrong: expected ${expectedOf(kind)}.`);
    return [key, undefined];
  });
  return Object.fromEntries(read);
}

const hasTwice = (words: readonly unknown[]): boolean => new Set(words).size < words.length;

/** Lists faults of the settings in combination. */
function inconsistencies(read: Settings, given: Environment): string[] {
  const { nodeEnv, mailProvider, publicUrl, telegramMode, smtpUrl } = read;
  const production = nodeEnv === "production";
  const rules: [broken: boolean, sentence: string][] = [
    [mailProvider === "smtp" && !given.SMTP_URL, "SMTP_URL has to be set with MAIL_PROVIDER=smtp."],
    [
      mailProvider === "sendgrid" && !given.SENDGRID_API_KEY,
      "SENDGRID_API_KEY has to be set with MAIL_PROVIDER=sendgrid.",
    ],
    [
      !!given.SENDGRID_BASE_URL && !isPrivate(given.SENDGRID_BASE_URL),
      "SENDGRID_BASE_URL has to begin with https://: the API key goes there. http is allowed for localhost only.",
    ],
    [!!given.DATABASE_OWNER_URL && !given.DATABASE_URL, "DATABASE_OWNER_URL is set without DATABASE_URL: set both."],
    [
      !!given.SMTP_IN_TLS_CERT !== !!given.SMTP_IN_TLS_KEY,
      `${given.SMTP_IN_TLS_CERT ? "SMTP_IN_TLS_CERT" : "SMTP_IN_TLS_KEY"} is set without ${given.SMTP_IN_TLS_CERT ? "SMTP_IN_TLS_KEY" : "SMTP_IN_TLS_CERT"}: set both, or neither.`,
    ],
    [
      production && publicUrl !== undefined && !isPrivate(publicUrl),
      "PUBLIC_URL has to begin with https:// in production: anybody who reads a link in approval mail on its way can approve. Put a proxy with TLS in front; http is allowed for localhost only.",
    ],
    [
      production && !given.SECRETS_KEYS,
      "SECRETS_KEYS has to be set in production: the service creates keys in DATA_DIR only in development.",
    ],
    [
      production && !given.MAIL_PROVIDER,
      "MAIL_PROVIDER has to be set in production: choose smtp or sendgrid, or outbox if mail should only be caught.",
    ],
    [
      production &&
        read.sandboxDomain !== undefined &&
        domainOfAddress(read.approvalsFrom ?? "") === read.sandboxDomain,
      "APPROVALS_FROM is on SANDBOX_DOMAIN: set it to an address on another domain. Every workspace may make addresses on the sandbox domain, and approvers could not tell their mail from the service's.",
    ],
    [
      production && read.sandboxDomain !== undefined && read.approvalsFrom === undefined,
      "APPROVALS_FROM has to be set with SANDBOX_DOMAIN in production: an address on another domain, from which approvers get their mail.",
    ],
    [
      !!given.SENDGRID_INBOUND_PUBLIC_KEY && !given.SENDGRID_INBOUND_SECRET,
      "SENDGRID_INBOUND_PUBLIC_KEY is set without SENDGRID_INBOUND_SECRET: set both.",
    ],
    [
      // A self-hosted Bot API server can call other addresses too.
      telegramMode === "webhook" && !given.TELEGRAM_API_ROOT && !canBeCalled(publicUrl ?? "http://localhost"),
      "TELEGRAM_MODE=webhook needs a PUBLIC_URL that begins with https://, at port 443, 80, 88 or 8443: set it, or take polling.",
    ],
    [
      hasTwice((read.auditWitnesses ?? []).map((text) => text.split("+")[0])),
      "AUDIT_WITNESSES names a witness twice: each has one verifier key.",
    ],
    [production && !!given.CRASH_AT, "CRASH_AT is refused in production: remove it."],
    [production && !!given.DEV_PROVEN_DOMAINS, "DEV_PROVEN_DOMAINS is refused in production: remove it."],
  ];
  const broken = rules.filter(([broken]) => broken).map(([, sentence]) => sentence);
  const relay = mailProvider === "smtp" && smtpUrl ? problemsOfSmtpUrl(smtpUrl) : [];
  return [...broken, ...relay, ...billingInconsistencies(given, { production })];
}

/** True if the traffic to this URL cannot be read in transit. */
const isPrivate = (publicUrl: string): boolean =>
  publicUrl.startsWith("https://") || isLoopbackHost(new URL(publicUrl).host);

/** Adds the defaults that follow from other settings. */
function completed(read: Settings, given: Environment) {
  const production = read.nodeEnv === "production";
  const publicUrl = read.publicUrl ?? `http://localhost:${read.port}`;
  const sandboxDomain = read.sandboxDomain ?? (production ? null : "agents.localhost");
  const dataDir = resolve(read.dataDir);
  return {
    ...read,
    production,
    /** In tests every response is checked against its documentation. */
    checkResponses: read.nodeEnv === "test",
    /** npm sets this for the programs it runs, and for those that they start. */
    startedByNpm: Boolean(given.npm_lifecycle_event),
    smtpInProxy: read.smtpInProxy === "true",
    /** Strangers may also come through this machine, by a tunnel or a plain proxy: in production only listed relays are trusted. */
    smtpInXclient: !production || given.SMTP_IN_RELAYS !== undefined,
    startPaused: read.startPaused === "true",
    roles: new Set<ServiceRole>(read.roles),
    publicUrl,
    trustProxy: trustedProxies(read.trustProxy),
    dataDir,
    auditWitnesses: (read.auditWitnesses ?? []).map(namedWitness),
    auditHeadDir: resolve(read.auditHeadDir ?? dataDir),
    auditPublic: read.auditPublic === "true",
    databaseOwnerUrl: read.databaseOwnerUrl ?? read.databaseUrl,
    secretsKeys: read.secretsKeys ?? developmentKeys(dataDir),
    stripe: stripeIn(read),
    spfInclude: read.spfInclude ?? null,
    sandboxDomain,
    signUp: read.signUp ?? (production ? ("invited" as const) : ("open" as const)),
    approvalsFrom:
      read.approvalsFrom ?? `approvals@${production ? new URL(publicUrl).hostname : "countersign.localhost"}`,
    rateLimits: {
      read: read.rateLimitRead,
      write: read.rateLimitWrite,
      send: read.rateLimitSend,
      notify: read.rateLimitNotify,
      test_email: read.rateLimitTestEmail,
      auth: read.rateLimitAuth,
      bad_key: read.rateLimitBadKey,
      bad_link: read.rateLimitBadLink,
      console: read.rateLimitConsole,
      document: read.rateLimitDocument,
    },
  };
}
