import type { ReadModel } from "#projections/names.ts";
import type { Reads } from "#projections/reads.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { MailAuthenticator } from "#src/mail/in/authentication/authenticator.ts";
import type { HeaderReader } from "#src/mail/in/headerReader.ts";
import type { MailParser } from "#src/mail/in/parse.ts";
import type { MailMeasure } from "#src/mail/out/measure/measure.ts";
import type { MessageIds } from "#src/mail/out/messageIds.ts";
import type { SendingDomains } from "#src/mail/out/sendingDomains.ts";
import type { Accounts } from "#src/platform/accounts/accounts.ts";
import type { Blobs } from "#src/platform/blobs/blobs.ts";
import type { Clock, Ids } from "#src/platform/clock.ts";
import type { Resolver } from "#src/platform/dns/resolver.ts";
import type { PaymentProcessor } from "#src/platform/payments/paymentProcessor.ts";
import type { PictureSource } from "#src/platform/publicWeb/pictureSource.ts";
import type { KeyRing } from "#src/platform/secrets/keyRing.ts";
import type { CostlyWork } from "#src/platform/threadPool/costlyWork.ts";
import type { Plan } from "#streams/workspace/events.ts";
import type { PlanLimits } from "#streams/workspace/planLimits.ts";
import type { StreamServices } from "./handle.ts";
import type { Room } from "./room.ts";
import type { AccountMail } from "./users/accountLetters.ts";

/** Ports and states that the commands work with; src/compose.ts and the tests put them together. */
export type Dependencies = StreamServices & {
  store: EventStore;
  clock: Clock;
  /** What is kept of people outside the log. */
  accounts: Accounts;
  /** Mail to people about their own accounts. */
  accountMail: AccountMail;
  ids: Ids;
  blobs: Blobs;
  /** The read models, for look-ups a stream cannot answer. */
  reads: Reads;
  /**
   * Waits until these read models (default: all that are served together) have reached a position of the log; false if they did not within
   * `timeoutMs` (default 5,000).
   */
  projected(
    position: number,
    options?: { of?: readonly ReadModel[]; timeoutMs?: number; signal?: AbortSignal },
  ): Promise<boolean>;
  headerReader: HeaderReader;
  parser: MailParser;
  costlyWork: CostlyWork;
  resolver: Resolver;
  authenticator: MailAuthenticator;
  /** Where signatures' pictures are fetched from, once. */
  pictures: Pick<PictureSource, "fetch">;
  /** The mail provider's side of domains; absent where it has none. */
  sendingDomains?: SendingDomains | undefined;
  keyRing: KeyRing;
  /** Who takes the money; null: nobody, and the operator sets plans. */
  payments: PaymentProcessor | null;
  messageIds: MessageIds;
  /** Where alarms are told that are no request's and no process's. */
  log?: { warn?(details: object, message: string): void; error(details: object, message: string): void };
  /** Memory for the mails that this process reads at once, in bytes as they were received; read, they take several times as many. */
  mailRoom: Room;
  /** Counts a mail whose stored bytes are lost, where no event tells that it was quarantined for that. */
  countLostMail?: () => void;
  /** Counts the service's own mail; without it that has no limit. */
  mailMeasure?: MailMeasure | undefined;
  /** Counts a mail of the service's own that was kept back: what it was for, and why. */
  countWithheld?: (kind: string, why: string) => void;
  settings: Settings;
};

/** Who may make an account: anybody; those who were invited; nobody, so that only people who have one can be invited. */
export type SignUp = "open" | "invited" | "closed";

export type Settings = {
  /** By default only those who were invited. */
  signUp?: SignUp;
  sandboxDomain: string | null;
  /** What domains' MX records have to say. */
  inboundMxHost: string;
  /** What their SPF records have to include; null: the host of inboundMxHost itself. */
  spfInclude: string | null;
  /** The mail provider that gives the values of some of their records; absent: none does. */
  recordsOf?: string | undefined;
  approvalsFrom: string;
  publicUrl: string;
  approvalLinkHours: number;
  notifyThrottleSeconds: number;
  /** How often a domain's records are looked up: in its first hour, while it stays pending, once it is verified. */
  domainCheckSeconds?: readonly [eager: number, patient: number, verified: number];
  /** How many open requests a mailbox gets in mails of their own (commands/approvals/bundles.ts); 30 by default. */
  mostMailedAlone?: number;
  /** Other limits than the contract's (streams/workspace/planLimits.ts). */
  planLimits?: Record<Plan, PlanLimits>;
  /** How long a send waits for acknowledged mail to be filed before it answers 503. */
  barrierTimeoutMs: number;
  /** Hosts (or host:port) of webhook URLs of Slack channels; hooks.slack.com by default. */
  slackAllowedHosts?: readonly string[];
  /** The service itself has a Slack signing secret, so that every Slack channel's presses are proven. */
  slackPressesProven?: boolean;
  /** Hosts (or host:port) that webhooks may point to though they are private; none by default. */
  webhookAllowedHosts?: readonly string[];
};
