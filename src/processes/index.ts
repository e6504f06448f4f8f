import type { Channels } from "#src/channels/channel.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { WebhookDeliveries } from "#src/platform/webhooks/deliveries.ts";
import type { WebhookSender } from "#src/platform/webhooks/sender.ts";
import type { CheckIntervals } from "#streams/domain/schedule.ts";
import { askInBundles } from "./askInBundles.ts";
import { attendTelegramBots, type BotAttendance } from "./attendTelegramBots.ts";
import { authenticateMail } from "./authenticateMail.ts";
import { checkDomains } from "./checkDomains.ts";
import { concludeCards } from "./concludeCards.ts";
import { confirmDelivery } from "./confirmDelivery.ts";
import { createCustomers } from "./createCustomers.ts";
import { deliver } from "./deliver.ts";
import { deliverWebhooks } from "./deliverWebhooks.ts";
import { escalateUnanswered } from "./escalateUnanswered.ts";
import { escalateUnreached } from "./escalateUnreached.ts";
import { expireMail } from "./expireMail.ts";
import { expireRequests } from "./expireRequests.ts";
import { fileInboundEmail } from "./fileInboundEmail.ts";
import { followBounces } from "./followBounces.ts";
import { followSubscriptions } from "./followSubscriptions.ts";
import { mailHeads } from "./mailHeads.ts";
import { mailInvitations } from "./mailInvitations.ts";
import { mailMembers } from "./mailMembers.ts";
import { mailStopLinks } from "./mailStopLinks.ts";
import { noteDrafts } from "./noteDrafts.ts";
import { notifyApprovers } from "./notifyApprovers.ts";
import type { Process } from "./process.ts";
import { queueWebhooks } from "./queueWebhooks.ts";
import { recordBounces } from "./recordBounces.ts";
import { refreshDraftContents } from "./refreshDraftContents.ts";
import { releaseAddress } from "./releaseAddress.ts";
import { releaseHeldMail } from "./releaseHeldMail.ts";
import { remindOfChanges } from "./remindOfChanges.ts";
import { runRules } from "./runRules.ts";
import { sendApproved } from "./sendApproved.ts";
import { setAsideWhilePaused } from "./setAsideWhilePaused.ts";
import { tellApprovers } from "./tellApprovers.ts";
import { tellOfExpiry } from "./tellOfExpiry.ts";
import { tellOfLostDomains } from "./tellOfLostDomains.ts";
import { tellOfStops } from "./tellOfStops.ts";
import { tellOutcomes } from "./tellOutcomes.ts";
import { tellOwners } from "./tellOwners.ts";
import { testChannels } from "./testChannels.ts";

export type ProcessSettings = {
  telegram: BotAttendance;
  channels: Channels;
  provider: MailProvider;
  instanceId: string;
  smtpConnections: number;
  smtpRetrySeconds: readonly number[];
  deliveryConfirmSeconds: number;
  handOverSeconds: number;
  /** `onQueued`: called after deliveries were queued, so that they are sent at once. */
  webhooks: { deliveries: WebhookDeliveries; sender: WebhookSender; onQueued: () => void };
  webhookRetrySeconds: readonly number[];
  /** Seconds between DNS checks of a domain: pending in its first hour, pending later, verified. */
  domainCheckSeconds: CheckIntervals;
  /** Days for which held and quarantined mail is kept. */
  retentionDaysHeld: number | "never";
  retentionDaysQuarantined: number | "never";
};

/** Creates every process of the service. */
export const allProcesses = (deps: Dependencies, settings: ProcessSettings): Process[] =>
  rulesOf(deps, settings).map(setAsideWhilePaused);

const rulesOf = (deps: Dependencies, settings: ProcessSettings): Process[] => [
  fileInboundEmail(deps),
  releaseHeldMail(deps),
  expireMail(deps, { held: settings.retentionDaysHeld, quarantined: settings.retentionDaysQuarantined }),
  authenticateMail(deps),
  runRules(deps, settings),
  checkDomains(deps, settings.domainCheckSeconds),
  notifyApprovers(deps, settings.channels),
  askInBundles(deps, settings.channels),
  attendTelegramBots(deps, settings.telegram),
  escalateUnanswered(deps),
  escalateUnreached(deps),
  expireRequests(deps),
  sendApproved(deps),
  deliver(deps, {
    provider: settings.provider,
    instanceId: settings.instanceId,
    connections: settings.smtpConnections,
    retrySeconds: settings.smtpRetrySeconds,
    confirmSeconds: settings.deliveryConfirmSeconds,
    handOverSeconds: settings.handOverSeconds,
  }),
  confirmDelivery(deps, settings.provider),
  recordBounces(deps),
  noteDrafts(deps),
  refreshDraftContents(deps),
  releaseAddress(deps),
  remindOfChanges(deps, settings),
  tellApprovers(deps, settings.provider),
  tellOutcomes(deps, settings.provider),
  followBounces(deps, settings.provider),
  concludeCards(deps, settings.channels),
  tellOfExpiry(deps, settings.provider),
  tellOfStops(deps, settings.provider),
  mailStopLinks(deps, settings.provider),
  mailInvitations(deps, settings.provider),
  tellOwners(deps, settings.provider),
  tellOfLostDomains(deps, settings.provider),
  mailMembers(deps, settings.provider),
  mailHeads(deps, settings.provider),
  testChannels(deps, settings),
  queueWebhooks(deps, settings.webhooks),
  deliverWebhooks(deps, { ...settings.webhooks, retrySeconds: settings.webhookRetrySeconds }),
  ...(deps.payments ? [createCustomers(deps, deps.payments), followSubscriptions(deps, deps.payments)] : []),
];
