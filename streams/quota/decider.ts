import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import type { QuotaEvent } from "./events.ts";

/**
 * `reserved` is shared between successive states: with 15,000 sends a period a copy per event would make a fold quadratic.
 * Safe because only the newest state is ever decided on.
 */
export type Quota = { used: number; reserved: Map<string, "reserved" | "released"> };

export type QuotaCommand =
  /** `cap` null: no limit. */
  { type: "ReserveQuota"; reservationId: string; cap: number | null } | { type: "ReleaseQuota"; reservationId: string };

function evolve(quota: Quota, event: QuotaEvent): Quota {
  // The initial state is shared by all streams: never write into it.
  const reserved = quota.used === 0 && quota.reserved.size === 0 ? new Map() : quota.reserved;
  const { reservationId } = event.data;
  const before = reserved.get(reservationId);
  reserved.set(reservationId, event.type === "QuotaReserved" ? "reserved" : "released");
  const change = event.type === "QuotaReserved" ? 1 : before === "reserved" ? -1 : 0;
  return { used: quota.used + change, reserved };
}

function decide(command: QuotaCommand, quota: Quota): QuotaEvent[] {
  const { reservationId } = command;
  const known = quota.reserved.get(reservationId);
  if (command.type === "ReleaseQuota") {
    return known === "released" ? [] : [{ type: "QuotaReleased", data: { reservationId } }];
  }
  if (known === "reserved") return [];
  if (known === "released") throw new Rejected("send_in_progress", "this send was given up");
  if (command.cap !== null && quota.used >= command.cap) {
    throw new Rejected("plan_limit_reached", `the plan's ${command.cap} outbound mails are used up: upgrade the plan`);
  }
  return [{ type: "QuotaReserved", data: { reservationId } }];
}

export const quotaDecider: Decider<Quota, QuotaCommand, QuotaEvent> = {
  category: "quota",
  initial: { used: 0, reserved: new Map() },
  evolve,
  decide,
};
