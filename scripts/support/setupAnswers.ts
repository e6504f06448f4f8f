import { randomBytes } from "node:crypto";
import type { TSchema } from "typebox";
import { newRingKey } from "#src/platform/secrets/keyRing.ts";
import { DomainName } from "#src/settings/settingKinds.ts";
import { settings } from "#src/settings/settings.ts";

export type SetupAnswers = {
  domain: string;
  "mail-provider": string;
  "smtp-url": string;
  "sendgrid-api-key": string;
  "approvals-from": string;
  operator: string;
};

export type SetupQuestion = {
  flag: keyof SetupAnswers;
  text: string;
  /** The kind of setting that validates the answer. */
  takes: TSchema;
  /** The default answer, chosen by Enter; undefined if an answer is required. */
  usual(given: Partial<SetupAnswers>): string | undefined;
  /** Condition for asking the question; without one it is always asked. */
  onlyIf?(given: Partial<SetupAnswers>): boolean;
};

const { MAIL_PROVIDER, SMTP_URL, SENDGRID_API_KEY, APPROVALS_FROM, OPERATOR_EMAILS } = settings.properties;

export const questions: readonly SetupQuestion[] = [
  {
    flag: "domain",
    text: "Host name of this installation, such as mail.example.com",
    takes: DomainName(),
    usual: () => undefined,
  },
  {
    flag: "mail-provider",
    text: "How mail leaves: smtp, sendgrid, or outbox (it is only caught)",
    takes: MAIL_PROVIDER,
    usual: () => "smtp",
  },
  {
    flag: "smtp-url",
    text: "URL of your mail relay, such as smtp://user:password@relay.example.com:587",
    takes: SMTP_URL,
    usual: () => undefined,
    onlyIf: (given) => given["mail-provider"] === "smtp",
  },
  {
    flag: "sendgrid-api-key",
    text: "API key of SendGrid, with the rights Mail Send and Sender Authentication",
    takes: SENDGRID_API_KEY,
    usual: () => undefined,
    onlyIf: (given) => given["mail-provider"] === "sendgrid",
  },
  {
    flag: "approvals-from",
    text: "Sender of the mail to approvers",
    takes: APPROVALS_FROM,
    usual: ({ domain }) => `approvals@${domain}`,
  },
  {
    flag: "operator",
    text: "Your own email address, as the operator (may be left out)",
    takes: OPERATOR_EMAILS,
    usual: () => "",
  },
];

/**
 * Makes the text of `.env` from these answers. `before`: its previous text, of which everything stays that was not asked for, above all
 * its secrets.
 */
export function envOf(
  answers: Partial<SetupAnswers>,
  { before, eventStore }: { before: Record<string, string>; eventStore: boolean },
): Record<string, string> {
  const { domain = "" } = answers;
  const provider = answers["mail-provider"];
  const isHere = domain === "localhost";
  return {
    NODE_ENV: "production",
    SMTP_PUBLISH: isHere ? "127.0.0.1:2525" : "25",
    SECRETS_KEYS: newRingKey("1"),
    POSTGRES_OWNER_PASSWORD: newPassword(),
    POSTGRES_SERVICE_PASSWORD: newPassword(),
    METRICS_TOKEN: newPassword(),
    ...(provider === "outbox" && { OUTBOX_TOKEN: newPassword() }),
    ...(eventStore && {
      EVENTSTORE_ADMIN_PASSWORD: newPassword(),
      EVENTSTORE_OPS_PASSWORD: newPassword(),
      EVENTSTORE_SERVICE_PASSWORD: newPassword(),
    }),
    ...before,
    ...(eventStore && { COMPOSE_PROFILES: "eventstore" }),
    PUBLIC_URL: `${isHere ? "http" : "https"}://${domain}`,
    INBOUND_MX_HOST: domain,
    MAIL_PROVIDER: provider ?? "",
    ...(provider === "smtp" && { SMTP_URL: answers["smtp-url"] ?? "" }),
    ...(provider === "sendgrid" && { SENDGRID_API_KEY: answers["sendgrid-api-key"] ?? "" }),
    APPROVALS_FROM: answers["approvals-from"] ?? "",
    ...(answers.operator && { OPERATOR_EMAILS: answers.operator }),
  };
}

/** Makes a password without characters that are special in a URL or in `.env`. */
const newPassword = (): string => randomBytes(24).toString("hex");
