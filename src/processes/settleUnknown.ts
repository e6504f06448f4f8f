import type { Dependencies } from "#src/commands/dependencies.ts";
import { loadContent } from "#src/commands/drafts/draftContents.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import type { DeliverySettings } from "./deliverySettings.ts";
import type { Acting } from "./process.ts";
import type { Sending } from "./writePermission.ts";

/**
 * Milliseconds before the first look-up in the provider's log. Each later look-up follows after half of the time passed so far, because the
 * log has a delay and look-ups are limited.
 */
const lookAfterMs = 5_000;
/** Clock difference in milliseconds that is allowed for: the provider's time of acceptance may be before the recorded start. */
const clocksDifferMs = 300_000;

/** Looks for evidence of an unknown outcome until the time for that is over. Returns "again" if the delivery is settled now. */
export async function settleUnknown(
  deps: Dependencies,
  settings: DeliverySettings,
  { sending, acting }: { sending: Sending; acting: Acting },
): Promise<"again" | undefined> {
  const { draftId, draft } = sending;
  const { attemptId } = draft;
  const confirmMs = settings.confirmSeconds * 1000;
  // Until the outcome is settled, "unknown" is the last event of this stream, so its time is when the outcome became unknown.
  const lost = await deps.store.readLast(deliveryStream(attemptId));
  const lostMs = Date.parse(lost?.metadata.at as string);
  const since = new Date(lostMs - settings.handOverSeconds * 1000 - clocksDifferMs);
  const found = await lookUp(deps, settings, { sending, since });
  const waitedMs = deps.clock.now().getTime() - lostMs;
  if (!found && waitedMs < confirmMs) {
    const inMs = Math.min(Math.max(lookAfterMs, waitedMs / 2), Math.max(200, confirmMs - waitedMs));
    await acting.timers.set({ key: draftId, name: "settle", inMs });
    return undefined;
  }
  const evidence = found ? `the provider's log says ${found}` : `no evidence within ${settings.confirmSeconds} s`;
  const command = { type: "SettleDelivery", outcome: found ?? "unconfirmed", evidence } as const;
  await deps.deliveries.handle(attemptId, command, acting.cause);
  return "again";
}

async function lookUp(
  deps: Dependencies,
  { provider }: DeliverySettings,
  { sending, since }: { sending: Sending; since: Date },
): Promise<"accepted" | "refused" | undefined> {
  if (!provider.lookUp) return undefined;
  const { attemptId, stored } = sending.draft;
  const { to, cc, bcc } = await loadContent(deps.blobs, stored);
  return provider.lookUp({ attemptId, recipients: [...to, ...cc, ...bcc], since });
}
