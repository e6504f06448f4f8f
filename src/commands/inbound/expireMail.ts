import { quarantinedMail, repeatedDeliveries } from "#projections/inbound/queries.ts";
import { readEvents } from "#src/eventStore/eventStore.ts";
import type { Filing } from "#streams/filing/decider.ts";
import { type FilingEvent, filingStream, type HeldMailExpiry, type MailExpiry } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { oldestHeld } from "./heldMarkers.ts";

/** Days after which the content of a held or quarantined mail is deleted, counted from the event that held or quarantined it. */
export type Retention = { held: number | "never"; quarantined: number | "never" };

/** Maximum number of mails that one append expires. */
const pageSize = 50;
/** Maximum number of deliveries that one append names, to keep the event well below its size limit. */
const maxDeliveries = 10_000;
const dayMs = 86_400_000;

type IdentityRef = { workspaceId: string; identityId: string };
/** Result of one step. "more": further mails may be due. Otherwise all due mails have expired, and younger mail is kept or not. */
export type ExpiryResult = "nothing kept" | "some kept" | "more";

/**
 * Expires up to a page of an identity's held and quarantined mails that have reached their retention, oldest first. Released mail is not
 * expired. If a mail is released at the same moment, its stream refuses whichever comes second. Safe to run twice concurrently.
 */
export async function expireMail(
  deps: Dependencies,
  { workspaceId, identityId, retention }: IdentityRef & { retention: Retention },
  cause: Cause,
): Promise<ExpiryResult> {
  const { state: filing } = await deps.filings.load(identityId);
  const page = { workspaceId, identityId, filing };
  const found = [
    await expireHeld(deps, { ...page, days: retention.held }, cause),
    await expireQuarantined(deps, { ...page, days: retention.quarantined }, cause),
  ];
  if (found.includes("more")) return "more";
  return found.includes("some kept") ? "some kept" : "nothing kept";
}

type ExpiryPage = IdentityRef & { filing: Filing; days: number | "never" };

async function expireHeld(
  deps: Dependencies,
  { workspaceId, identityId, filing, days }: ExpiryPage,
  cause: Cause,
): Promise<ExpiryResult> {
  if (filing.held.count === 0) return "nothing kept";
  if (days === "never") return "some kept";
  const { markers, after } = await oldestHeld(deps, { identityId, filing }, pageSize);
  const due = markers.slice(0, dueCount(deps, { days, kept: markers }));
  const expiries = due.map(
    async ({ decision: { number, deliveryId, messageId }, revision }): Promise<HeldMailExpiry> => {
      const deliveryIds = await deliveriesOf(deps, workspaceId, { deliveryId, messageId });
      return { number, deliveryIds, afterDays: days, markerRevision: revision };
    },
  );
  const mails = oneAppend(await Promise.all(expiries));
  if (mails.length === 0) return "some kept";
  const command = { type: "ExpireHeld", mails, after } as const;
  const { changed } = await deps.filings.handle(identityId, command, { ...cause, workspaceId });
  return changed ? "more" : "some kept";
}

/** Expires quarantined mails. The read model finds them; the stream confirms each. */
async function expireQuarantined(
  deps: Dependencies,
  { workspaceId, identityId, filing, days }: ExpiryPage,
  cause: Cause,
): Promise<ExpiryResult> {
  const window = { identityId, above: filing.quarantineExpiredUpTo, count: days === "never" ? 1 : pageSize };
  const rows = await quarantinedMail(deps.reads, workspaceId, window);
  if (rows.length === 0) return "nothing kept";
  if (days === "never") return "some kept";
  const kept = await Promise.all(
    rows.map(async ({ id: deliveryId, message_id: messageId, filing_number: number, filing_revision: revision }) => {
      const at = await quarantinedAt(deps, identityId, { deliveryId, number, revision });
      return { deliveryId, messageId, number, at };
    }),
  );
  const due = kept.slice(0, dueCount(deps, { days, kept }));
  const expiries = due.map(
    async ({ number, ...mail }): Promise<MailExpiry> => ({
      number,
      deliveryIds: await deliveriesOf(deps, workspaceId, mail),
      afterDays: days,
    }),
  );
  const mails = oneAppend(await Promise.all(expiries));
  if (mails.length === 0) return "some kept";
  const command = { type: "ExpireQuarantined", mails } as const;
  const { changed } = await deps.filings.handle(identityId, command, { ...cause, workspaceId });
  return changed ? "more" : "some kept";
}

/** Returns how many of these mails, counted from the oldest, are older than `days`. */
function dueCount(
  { clock }: Pick<Dependencies, "clock">,
  { days, kept }: { days: number; kept: readonly { at: string }[] },
): number {
  const latest = clock.now().getTime() - days * dayMs;
  const end = kept.findIndex(({ at }) => Date.parse(at) > latest);
  return end < 0 ? kept.length : end;
}

/**
 * Returns when the stream says that the mail was quarantined. Throws if the stream does not say so, because the read model then belongs to
 * another log.
 */
async function quarantinedAt(
  { store }: Pick<Dependencies, "store">,
  identityId: string,
  { deliveryId, number, revision }: { deliveryId: string; number: number; revision: number },
): Promise<string> {
  const stream = filingStream(identityId);
  const [event] = await readEvents<FilingEvent>(store, stream, { from: revision, count: 1 });
  const isSo =
    event?.type === "MailQuarantined" || (event?.type === "FilingDecided" && event.data.disposition === "quarantined");
  if (!isSo || event.data.number !== number || event.data.deliveryId !== deliveryId)
    throw new Error(`${stream} does not say at revision ${revision} that delivery ${deliveryId} is quarantined`);
  return event.metadata.at;
}

/** Returns a delivery together with repeated deliveries of the same mail, because their content is the same. */
async function deliveriesOf(
  { reads }: Pick<Dependencies, "reads">,
  workspaceId: string,
  { deliveryId, messageId }: { deliveryId: string; messageId: string },
): Promise<string[]> {
  const repeated = await repeatedDeliveries(reads, workspaceId, { messageId, count: maxDeliveries - 1 });
  return [deliveryId, ...repeated];
}

/** Returns the first mails, as many as fit into one append. */
function oneAppend<T extends MailExpiry>(mails: readonly T[]): T[] {
  let named = 0;
  const end = mails.findIndex(({ deliveryIds }, index) => {
    named += deliveryIds.length;
    return index > 0 && named > maxDeliveries;
  });
  return mails.slice(0, end < 0 ? undefined : end);
}
