import { quarantinedMail, repeatedDeliveries } from "#projections/inbound/queries.ts";
import { readEvents } from "#src/eventStore/eventStore.ts";
import type { Filing } from "#streams/filing/decider.ts";
import { type FilingEvent, filingStream, type HeldMailExpiry, type MailExpiry } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { oldestHeld } from "./heldMarkers.ts";

/** Whole days from the event that held or quarantined a mail to the end of its content. */
export type Retention = { held: number | "never"; quarantined: number | "never" };

/** Mails that expire with one append. */
const pageSize = 50;
/** Deliveries that one append names: their ids stay well below what an event may hold. */
const maxDeliveries = 10_000;
const dayMs = 86_400_000;

type OfIdentity = { workspaceId: string; identityId: string };
/** What one step found: everything due has expired (and whether younger mail is kept), or there may be more that is due. */
export type Expired = "nothing kept" | "some kept" | "more";

/**
 * Ends the content of a page of an identity's held and quarantined mail that was kept for as long as it may be, oldest first. What was
 * released stays, and so does what is being released: the stream refuses the slower one. Safe to run twice at once.
 */
export async function expireMail(
  deps: Dependencies,
  { workspaceId, identityId, retention }: OfIdentity & { retention: Retention },
  cause: Cause,
): Promise<Expired> {
  const { state: filing } = await deps.filings.load(identityId);
  const page = { workspaceId, identityId, filing };
  const found = [
    await expireHeld(deps, { ...page, days: retention.held }, cause),
    await expireQuarantined(deps, { ...page, days: retention.quarantined }, cause),
  ];
  if (found.includes("more")) return "more";
  return found.includes("some kept") ? "some kept" : "nothing kept";
}

type Page = OfIdentity & { filing: Filing; days: number | "never" };

async function expireHeld(
  deps: Dependencies,
  { workspaceId, identityId, filing, days }: Page,
  cause: Cause,
): Promise<Expired> {
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

/** The read model says where to look, and the stream what it is. */
async function expireQuarantined(
  deps: Dependencies,
  { workspaceId, identityId, filing, days }: Page,
  cause: Cause,
): Promise<Expired> {
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

/** How many of these, from the oldest, were kept for so many days. */
function dueCount(
  { clock }: Pick<Dependencies, "clock">,
  { days, kept }: { days: number; kept: readonly { at: string }[] },
): number {
  const latest = clock.now().getTime() - days * dayMs;
  const end = kept.findIndex(({ at }) => Date.parse(at) > latest);
  return end < 0 ? kept.length : end;
}

/** When it was quarantined, as the stream has it. Throws if the stream says something else: then the read model belongs to another log. */
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

/** The delivery itself, and those that brought the same mail once more: what they hold is the same. */
async function deliveriesOf(
  { reads }: Pick<Dependencies, "reads">,
  workspaceId: string,
  { deliveryId, messageId }: { deliveryId: string; messageId: string },
): Promise<string[]> {
  const repeated = await repeatedDeliveries(reads, workspaceId, { messageId, count: maxDeliveries - 1 });
  return [deliveryId, ...repeated];
}

/** As many as fit into one append, from the first. */
function oneAppend<T extends MailExpiry>(mails: readonly T[]): T[] {
  let named = 0;
  const end = mails.findIndex(({ deliveryIds }, index) => {
    named += deliveryIds.length;
    return index > 0 && named > maxDeliveries;
  });
  return mails.slice(0, end < 0 ? undefined : end);
}
