import Type from "typebox";
import { HostName, ListOf, Network, OneOf, PathSecret, PemFile, SigningKey, TwoOf, Whole } from "./settingKinds.ts";

/** Lowest and highest port. */
export const port = [0, 65_535] as const;

/** The settings of the mail receiver: a part of src/settings/settings.ts. */
export const mailInSettings = {
  SMTP_IN_HOST: HostName({ default: "127.0.0.1", description: "The address that the mail receiver listens on." }),
  SMTP_IN_PORT: Whole(...port, {
    default: 2525,
    description: "The port that the mail receiver listens on; 0 turns it off.",
  }),
  SMTP_IN_RELAYS: ListOf(Network(), {
    default: ["127.0.0.0/8", "::1"],
    description:
      "Your own mail relays and proxies: no limit of one address is meant for them, and they may name the sender by XCLIENT or the PROXY protocol; mail of which they name none proves nothing by SPF.",
  }),
  SMTP_IN_PROXY: OneOf(["true", "false"], {
    default: "false",
    description:
      "With true every connection for mail from SMTP_IN_RELAYS begins with a header of the PROXY protocol (version 1 or 2) that names its sender.",
  }),
  SMTP_IN_TLS_CERT: Type.Optional(
    PemFile({
      otherwise: "the mail receiver offers no STARTTLS",
      description:
        "The certificate that the mail receiver shows to senders who start TLS, with those that lead to its issuer; the file is read again when it changes.",
    }),
  ),
  SMTP_IN_TLS_KEY: Type.Optional(
    PemFile({
      otherwise: "the mail receiver offers no STARTTLS",
      description: "The private key of SMTP_IN_TLS_CERT, without a passphrase.",
    }),
  ),
  SMTP_IN_BUDGET: TwoOf(Whole(1, 1_000_000), {
    default: [600, 500],
    description:
      "How many messages, and how many megabytes of mail, one address may send one identity in 10 minutes before it is told to come back later.",
  }),
  SMTP_IN_UNANSWERED_MB: TwoOf(Whole(1, 1_000_000_000), {
    default: [5_000, 50_000],
    unit: "megabytes",
    description:
      "How much unanswered mail one workspace may hold, and all of them together, before senders to those that hold most are told to come back later.",
  }),
  SMTP_IN_MIN_FREE_MB: Whole(0, 1_000_000_000, {
    default: 500,
    unit: "megabytes",
    description:
      "How much has to be free on the disk of the embedded PostgreSQL; below it no mail is taken, and senders are told to come back later.",
  }),
  SMTP_IN_MAX_DATABASE_MB: Type.Optional(
    Whole(1, 1_000_000_000, {
      unit: "megabytes",
      otherwise: "no limit",
      description:
        "The same for the PostgreSQL of DATABASE_URL, whose disk the service does not see: how large its database may be.",
    }),
  ),
  SENDGRID_INBOUND_SECRET: Type.Optional(
    ListOf(PathSecret(), {
      otherwise: "SendGrid brings no mail in",
      description:
        "The last part of the path that SendGrid posts inbound mail to, /hooks/sendgrid/inbound/<secret>; two, comma separated, while it is replaced: domains are set to the first, both are taken.",
    }),
  ),
  SENDGRID_INBOUND_PUBLIC_KEY: Type.Optional(
    SigningKey({
      otherwise: "the secret alone tells a genuine post",
      description:
        "The public key of SendGrid's webhook security policy that signs inbound posts; with it a post needs the secret and a signature.",
    }),
  ),
};
