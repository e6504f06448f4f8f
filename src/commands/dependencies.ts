import type { ReadModel } from "#projections/names.ts";
import type { Reads } from "#projections/reads.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { MailAuthenticator } from "#src/mail/in/authentication/authenticator.ts";
import type { HeaderReader } from "#src/mail/in/headerReader.ts";
import type { MailParser } from "#src/mail/in/parse.ts";
import type { MessageIds } from "#src/mail/out/messageIds.ts";
import type { NotificationQuota } from "#src/mail/out/quota/notificationQuota.ts";
import type { SendingDomains } from "#src/mail/out/sendingDomains.ts";
import type { Accounts } from "#src/platform/accounts/accounts.ts";
import type { AuditHeads } from "#src/platform/audit/heads.ts";
import type { NamedWitness } from "#src/platform/audit/witnesses.ts";
import type { Blobs } from "#src/platform/blobs/blobs.ts";
import type { Clock, Ids } from "#src/platform/clock.ts";
import type { Resolver } from "#src/platform/dns/resolver.ts";
import type { SpfEvaluator } from "#src/platform/dns/spf/evaluator.ts";
import type { PaymentProcessor } from "#src/platform/payments/paymentProcessor.ts";
import type { PictureSource } from "#src/platform/publicWeb/pictureSource.ts";
import type { KeyRing } from "#src/platform/secrets/keyRing.ts";
import type { CostlyWork } from "#src/platform/threadPool/costlyWork.ts";
import type { AnswerLimit } from "#streams/answeredAddress/looping.ts";
import type { Plan } from "#streams/workspace/events.ts";
import type { PlanLimits } from "#streams/workspace/planLimits.ts";
import type { StreamServices } from "./handle.ts";
import type { MemoryRoom } from "./memoryRoom.ts";
import type { AccountMail } from "./users/accountLetters.ts";

/** Ports and states used by the commands; composed by src/compose.ts and the tests. */
export type Dependencies = StreamServices & {
  store: EventStore;
  clock: Clock;
  /** Personal data kept outside the log. */
  accounts: Accounts;
  /** Mail to people about their own accounts. */
  accountMail: AccountMail;
  ids: Ids;
  blobs: Blobs;
  /** Signed heads of the audit trees. */
  auditHeads: AuditHeads;
  /** Read models, for look-ups that no stream can answer. */
  reads: Reads;
  /**
   * Waits until these read models (default: the main group) have reached a log position. Resolves to false if they do not reach it within
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
  evaluateSpf: SpfEvaluator;
  authenticator: MailAuthenticator;
  /** Fetches the pictures that signatures refer to on the web, when an identity is saved. */
  pictures: Pick<PictureSource, "fetch">;
  /** The mail provider's domain API; absent if it has none. */
  sendingDomains?: SendingDomains | undefined;
  keyRing: KeyRing;
  /** Payment processor; null if none is configured, so the operator sets plans. */
  payments: PaymentProcessor | null;
  messageIds: MessageIds;
  /** Log for alarms that do not occur in a request or a process. */
  log?: { warn?(details: object, message: string): void; error(details: object, message: string): void };
  /**
   * Limit on the size in bytes, as received, of all mails that this process reads concurrently. Reading a mail takes several times its
   * size.
   */
  mailRoom: MemoryRoom;
  /** Counts a mail whose stored bytes are lost, unless an event records that it was quarantined for this reason. */
  countLostMail?: () => void;
  /** Limits notification mail; absent: unlimited. */
  mailMeasure?: NotificationQuota | undefined;
  /** Counts a withheld notification mail by its kind and reason. */
  countWithheld?: (kind: string, why: string) => void;
  settings: CommandSettings;
};

/**
 * People who may create accounts. "open": anyone. "invited": people with an invitation. "closed": nobody, so that only people with an
 * account can be invited.
 */
export type SignUp = "open" | "invited" | "closed";

export type CommandSettings = {
  /** Default: "invited". */
  signUp?: SignUp;
  sandboxDomain: string | null;
  /** Host name that the MX records of customer domains must contain. */
  inboundMxHost: string;
  /** Name that the SPF records of customer domains must include; null: inboundMxHost. */
  spfInclude: string | null;
  /** Addresses that mail is sent from; undefined: those that the SPF record of a customer domain has to permit lead to. */
  spfAddresses?: readonly string[] | undefined;
  /** Name of the mail provider that supplies some DNS records of customer domains, if any. */
  recordsOf?: string | undefined;
  approvalsFrom: string;
  publicUrl: string;
  /** True: checkpoints and tiles of the audit trees are served without a key. */
  auditPublic?: boolean;
  /** Witnesses that cosign the heads of the audit trees; none by default. */
  auditWitnesses?: readonly NamedWitness[];
  /** Limits on answers to one address that no person approved (streams/answeredAddress); none: unlimited. */
  autoAnswers?: readonly AnswerLimit[];
  approvalLinkHours: number;
  notifyThrottleSeconds: number;
  /**
   * Seconds between DNS checks of a domain: in its first hour (`eager`), later while it is pending (`patient`), and after it is verified.
   */
  domainCheckSeconds?: readonly [eager: number, patient: number, verified: number];
  /** Number of open requests of a mailbox that are each sent as a separate mail (commands/approvals/bundles.ts); 30 by default. */
  mostMailedAlone?: number;
  /** Limits of plans that replace the default ones (streams/workspace/planLimits.ts). */
  planLimits?: Record<Plan, PlanLimits>;
  /** Maximum time in milliseconds that a send waits until acknowledged mail is filed. After it the request gets status 503. */
  barrierTimeoutMs: number;
  /** Hosts (or host:port) allowed in webhook URLs of Slack channels; hooks.slack.com by default. */
  slackAllowedHosts?: readonly string[];
  /** True if the service itself has a Slack signing secret, with which it proves who pressed a button in any Slack channel. */
  slackPressesProven?: boolean;
  /** Private hosts (or host:port) to which webhooks may be sent in spite of the ban on private addresses; none by default. */
  webhookAllowedHosts?: readonly string[];
};
