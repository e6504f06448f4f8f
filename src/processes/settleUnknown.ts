import type { Dependencies } from "#src/commands/dependencies.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import type { DeliverySettings } from "./deliverySettings.ts";
import type { Acting } from "./process.ts";
import type { Sending } from "./writePermission.ts";

const lookEveryMs = 5_000;

/** Looks for evidence of an unknown outcome until the time for it is over. "again": the delivery is settled now. */
export async function settleUnknown(
  deps: Dependencies,
  settings: DeliverySettings,
  { sending, acting }: { sending: Sending; acting: Acting },
): Promise<"again" | undefined> {
  const { draftId, draft } = sending;
  const { attemptId } = draft;
  const confirmMs = settings.confirmSeconds * 1000;
  const found = await settings.provider.lookUp?.(attemptId);
  // Nothing follows "unknown" on that stream before it is settled: the time of its last event is when the outcome became unknown.
  const lost = await deps.store.readLast(deliveryStream(attemptId));
  const waitedMs = deps.clock.now().getTime() - Date.parse(lost?.metadata.at as string);
  if (!found && waitedMs < confirmMs) {
    const inMs = Math.min(lookEveryMs, Math.max(200, confirmMs - waitedMs));
    await acting.timers.set({ key: draftId, name: "settle", inMs });
    return undefined;
  }
  const evidence = found ? `the provider's log says ${found}` : `no evidence within ${settings.confirmSeconds} s`;
  const command = { type: "SettleDelivery", outcome: found ?? "unconfirmed", evidence } as const;
  await deps.deliveries.handle(attemptId, command, acting.cause);
  return "again";
}
