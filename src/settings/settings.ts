import Type from "typebox";
import { usualRetrySeconds } from "#streams/webhook/retrySchedule.ts";
import { crashPoints } from "../platform/crashPoints.ts";
import { auditSettings } from "./auditSettings.ts";
import { billingSettings } from "./billingSettings.ts";
import { domainSettings } from "./domainSettings.ts";
import { mailInSettings, port } from "./mailInSettings.ts";
import { rateSettings } from "./rateSettings.ts";
import { retentionSettings } from "./retentionSettings.ts";
import { sendGridSettings } from "./sendGridSettings.ts";
import {
  AnswerLimits,
  Directory,
  DomainName,
  EventStoreUrl,
  expectedOf,
  FourRates,
  HostName,
  HttpUrl,
  KeyRing,
  ListOf,
  MailAddress,
  OneOf,
  PointOf,
  Proxies,
  Secret,
  type SettingMeaning,
  ThreeOf,
  Token,
  Url,
  Whole,
} from "./settingKinds.ts";

export const roles = ["api", "projections", "processes", "smtp"] as const;

const day = 86_400;
/**
 * Every setting of the service, named as environment variables and lines of `.env`. One that is optional here has no fixed default:
 * `otherwise` says what applies if it is not set. src/settings/config.ts reads them.
 */
export const settings = Type.Object({
  NODE_ENV: OneOf(["development", "test", "production"], {
    default: "development",
    description: "The environment the service runs in; production refuses settings made for development.",
  }),
  HOST: HostName({ default: "127.0.0.1", description: "The address that HTTP listens on." }),
  PORT: Whole(...port, { default: 8080, description: "The port that HTTP listens on; 0 takes a free one." }),
  PUBLIC_URL: Type.Optional(
    HttpUrl({
      otherwise: "http://localhost:PORT",
      description: "The address at which people reach the service; links in mail begin with it.",
    }),
  ),
  TRUST_PROXY: Proxies({
    default: "0",
    description:
      "How many reverse proxies there are in front of HTTP, or their networks: as many of the last entries of X-Forwarded-For are believed, or as long as they are in these networks; a number only for a service that nobody reaches past them.",
  }),
  ALLOWED_HOSTS: ListOf(HostName(), {
    default: [],
    description:
      "Further names under which pages without a key are answered, beside those of PUBLIC_URL and of this machine.",
  }),
  OPERATOR_EMAILS: ListOf(MailAddress(), {
    default: [],
    description: "The addresses of the operator's own people, by which they sign in; each counts once it is confirmed.",
  }),
  ROLES: ListOf(OneOf(roles), {
    default: [...roles],
    description: "What this instance does; several instances may share a role.",
  }),
  START_PAUSED: OneOf(["true", "false"], {
    default: "false",
    description:
      "With true the start pauses the whole installation: nothing leaves until the operator resumes it, for use after a restore.",
  }),
  LOG_LEVEL: OneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"], {
    default: "info",
    description: "The lowest level of log lines that are written.",
  }),
  DATA_DIR: Directory({
    default: "data",
    description: "The directory of the embedded PostgreSQL and of the keys of a development install.",
  }),
  DATABASE_URL: Type.Optional(
    Url(["postgres", "postgresql"], {
      otherwise: "the embedded PostgreSQL",
      description:
        "The PostgreSQL server (14 or newer) for the read models, and for the event log unless EVENT_STORE_URL is set.",
    }),
  ),
  DATABASE_OWNER_URL: Type.Optional(
    Url(["postgres", "postgresql"], {
      otherwise: "DATABASE_URL",
      description:
        "The same PostgreSQL server, with the role that owns the tables, if the service's own role may not create any.",
    }),
  ),
  EVENT_STORE_URL: Type.Optional(
    EventStoreUrl({
      otherwise: "the event log is in PostgreSQL",
      description: "The EventStoreDB or KurrentDB that keeps the event log.",
    }),
  ),
  SECRETS_KEYS: Type.Optional(
    KeyRing({
      otherwise: "made once in DATA_DIR; production refuses that",
      description: "The keys that kept secrets are encrypted with: the first one encrypts, all of them decrypt.",
    }),
  ),
  MAIL_PROVIDER: OneOf(["outbox", "smtp", "sendgrid"], {
    default: "outbox",
    description: "How mail is sent: through the relay of SMTP_URL, by SendGrid, or not at all, caught in the outbox.",
  }),
  SMTP_URL: Type.Optional(
    Url(["smtp", "smtps"], {
      otherwise: "no relay",
      description:
        "The relay that MAIL_PROVIDER=smtp hands mail to: host, user and password, and in the query options for TLS, a client certificate or OAuth2 (see 'The URL of the mail relay').",
    }),
  ),
  SMTP_CONNECTIONS: Whole(1, 1_000, {
    default: 10,
    description:
      "How many connections to the relay, or to SendGrid, one instance has open at once; with a relay that allows fewer, it gets by with those.",
  }),
  ...sendGridSettings,
  ...auditSettings,
  ...mailInSettings,
  ...domainSettings,
  APPROVALS_FROM: Type.Optional(
    MailAddress({
      otherwise: "approvals@countersign.localhost; in production approvals@ and the host of PUBLIC_URL",
      description:
        "The sender of approval mail and of notices; in production a SANDBOX_DOMAIN needs one on another domain.",
    }),
  ),
  TELEGRAM_API_ROOT: HttpUrl({
    default: "https://api.telegram.org",
    description: "Where the Telegram Bot API is: a server of your own, or a stand-in for tests.",
  }),
  TELEGRAM_MODE: OneOf(["auto", "webhook", "polling"], {
    default: "auto",
    description:
      "How button presses in Telegram come in: Telegram calls PUBLIC_URL (webhook), or the service fetches them (polling); auto takes the webhook where PUBLIC_URL begins with https://.",
  }),
  SLACK_ALLOWED_HOSTS: ListOf(HostName(), {
    default: ["hooks.slack.com"],
    description:
      "The hosts that the webhook of a Slack channel may be on, each alone or with a port; by https, and by http where WEBHOOK_ALLOWED_HOSTS names it too.",
  }),
  SLACK_SIGNING_SECRET: Type.Optional(
    Secret({
      otherwise: "presses in Slack are taken from identities with a signing_secret of their own",
      description:
        "The signing secret of the Slack app behind the channels, which proves that a press in Slack comes from Slack.",
    }),
  ),
  ...billingSettings,
  SIGN_UP: Type.Optional(
    OneOf(["open", "invited", "closed"], {
      otherwise: "open; in production invited",
      description:
        "Who may make an account: anybody (open), people who were invited to a workspace (invited), or nobody, so that only people who have an account can be invited (closed).",
    }),
  ),
  ...rateSettings,
  SERVICE_MAIL_PER_HOUR: FourRates({
    default: [20, 300, 600, 3_000],
    description:
      "How much mail of the service's own leaves in an hour: notices, tests and what rules tell people, to one address or chat and of one workspace, which are dropped above that, then requests to approvers and outcomes to one address and of one workspace, which wait; off lifts all four limits.",
  }),
  AUTO_ANSWERS_PER_ADDRESS: AnswerLimits({
    default: "10/3600,30/86400",
    description:
      "How many answers that no person approved one address, whatever its +tag, gets from a workspace, as numbers of answers and the seconds in which they are sent: above that a rule or a setting asks a person, and a key's call is refused with loop_guarded; answers of a key count if the message has a sign of a machine, or if three messages in a row each came within a minute after our answer; off lifts the limits.",
  }),
  NOTIFY_THROTTLE_SECONDS: Whole(0, day, {
    default: 60,
    unit: "seconds",
    description: "How long to wait after a request to notify a draft's approvers before the next one is allowed.",
  }),
  HAND_OVER_SECONDS: Whole(1, day, {
    default: 1800,
    unit: "seconds",
    description:
      "How long a whole hand-over may last, from the first command to the provider's answer, before its outcome counts as unknown.",
  }),
  DELIVERY_CONFIRM_SECONDS: Whole(1, day, {
    default: 900,
    unit: "seconds",
    description: "How long a send of unknown outcome waits for evidence before it fails.",
  }),
  APPROVAL_LINK_HOURS: Whole(1, 8_760, {
    default: 72,
    unit: "hours",
    description: "How long an approval link is valid.",
  }),
  IDEMPOTENCY_HOURS: Whole(1, 8_760, {
    default: 24,
    unit: "hours",
    description: "How long the response of a POST with an Idempotency-Key is kept for repetitions.",
  }),
  ...retentionSettings,
  WEBHOOK_RETRY_SECONDS: ListOf(Whole(0, 30 * day), {
    default: [...usualRetrySeconds],
    unit: "seconds",
    description: "The pauses before each retry of a webhook delivery; after the last one the delivery has failed.",
  }),
  SMTP_RETRY_SECONDS: ListOf(Whole(0, 30 * day), {
    default: [60, 300, 900, 3_600],
    unit: "seconds",
    description: "The pauses before each retry to hand a mail to the relay; after the last one the draft fails.",
  }),
  DOMAIN_CHECK_SECONDS: ThreeOf(Whole(1, 30 * day), {
    default: [30, 600, 86_400],
    unit: "seconds",
    description:
      "How often a domain's records are checked: in its first hour, while it stays pending, once it is verified.",
  }),
  OUTBOX_TOKEN: Type.Optional(
    Token({
      otherwise: "/outbox is for this machine alone, in production for nobody",
      description:
        "What opens /outbox to callers from outside this machine, as Bearer or typed into its form; in production to all.",
    }),
  ),
  METRICS_TOKEN: Type.Optional(
    Token({
      otherwise: "only callers on this machine see the details",
      description:
        "What callers from outside this machine send as Bearer to see all of /metrics and the reasons in /readyz; without it they see which parts are ready.",
    }),
  ),
  WEBHOOK_ALLOWED_HOSTS: ListOf(HostName(), {
    default: [],
    description: "Hosts that webhooks and pictures may use although their addresses are private, also over http.",
  }),
  DEV_PROVEN_DOMAINS: ListOf(DomainName(), {
    default: [],
    description: "Domains whose mail counts as proven when it comes from this machine; production refuses it.",
  }),
  CRASH_AT: Type.Optional(
    PointOf(crashPoints, {
      otherwise: "never",
      description: "The point at which the process kills itself, for tests; production refuses it.",
    }),
  ),
});

/** A setting as described on the page of settings. */
export type SettingDescription = {
  name: string;
  /** Description of valid values. */
  takes: string;
  unit?: string;
  /** Default as written in `.env`, or in words if it derives from another setting. */
  default: string;
  meaning: string;
};

/** Describes every setting in the order of the declaration. */
export const settingDescriptions: readonly SettingDescription[] = Object.entries(settings.properties).map(
  ([name, kind]) => {
    const { description = "", unit, otherwise, default: value } = kind as SettingMeaning<unknown>;
    return {
      name,
      takes: expectedOf(kind),
      ...(unit && { unit }),
      default: otherwise ?? ([value].flat().join(",") || "none"),
      meaning: description,
    };
  },
);
