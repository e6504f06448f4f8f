import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import type { QuotaEvent } from "./events.ts";

/**
 * One object per stream, changed in place: with 15,000 sends a period a copy per event would make a fold quadratic. Folding an event a
 * second time changes nothing, and a state that runs ahead of its revision only meets a conflict when it appends.
 */
export type Quota = { used: number; reservations: Record<string, "reserved" | "released"> };

/** How a reservation stands; undefined for one that never was. */
export const reservationOf = ({ reservations }: Quota, reservationId: string): "reserved" | "released" | undefined =>
  Object.hasOwn(reservations, reservationId) ? reservations[reservationId] : undefined;

export type QuotaCommand =
  /** `cap` null: no limit. `elsewhere`: what counts against it beside this stream. */
  | { type: "ReserveQuota"; reservationId: string; cap: number | null; elsewhere?: number }
  /** As many of these as fit, from the first; what they are for is known by their ids afterwards. */
  | { type: "ReserveThoseThatFit"; reservationIds: readonly string[]; cap: number | null; elsewhere?: number }
  | { type: "ReleaseQuota"; reservationId: string };

const initial: Quota = { used: 0, reservations: {} };

function evolve(quota: Quota, event: QuotaEvent): Quota {
  const ledger = quota === initial ? { used: 0, reservations: {} } : quota;
  const { reservationId } = event.data;
  const before = reservationOf(ledger, reservationId);
  switch (event.type) {
    case "QuotaReserved":
      if (before !== undefined) return ledger;
      ledger.reservations[reservationId] = "reserved";
      ledger.used += 1;
      return ledger;
    case "QuotaReleased":
      if (before === "released") return ledger;
      ledger.reservations[reservationId] = "released";
      if (before === "reserved") ledger.used -= 1;
      return ledger;
    default:
      return unreachable(event);
  }
}

function decide(command: QuotaCommand, quota: Quota): QuotaEvent[] {
  switch (command.type) {
    case "ReserveQuota":
      return reserve(command, quota);
    case "ReserveThoseThatFit":
      return reserveThoseThatFit(command, quota);
    case "ReleaseQuota": {
      const { reservationId } = command;
      const known = reservationOf(quota, reservationId);
      return known === "released" ? [] : [{ type: "QuotaReleased", data: { reservationId } }];
    }
    default:
      return unreachable(command);
  }
}

function reserve(command: Extract<QuotaCommand, { type: "ReserveQuota" }>, quota: Quota): QuotaEvent[] {
  const { reservationId } = command;
  const known = reservationOf(quota, reservationId);
  if (known === "reserved") return [];
  if (known === "released") throw new Rejected("send_in_progress", "this send was abandoned");
  if (command.cap !== null && quota.used + (command.elsewhere ?? 0) >= command.cap) {
    throw new Rejected(
      "plan_limit_reached",
      `your plan allows ${command.cap} outbound mails, and all of them are used: upgrade the plan`,
    );
  }
  return [{ type: "QuotaReserved", data: { reservationId } }];
}

function reserveThoseThatFit(
  { reservationIds, cap, elsewhere = 0 }: Extract<QuotaCommand, { type: "ReserveThoseThatFit" }>,
  quota: Quota,
): QuotaEvent[] {
  const fresh = [...new Set(reservationIds)].filter((id) => reservationOf(quota, id) === undefined);
  const room = cap === null ? fresh.length : Math.max(0, cap - elsewhere - quota.used);
  return fresh.slice(0, room).map((reservationId) => ({ type: "QuotaReserved", data: { reservationId } }));
}

export const quotaDecider: Decider<Quota, QuotaCommand, QuotaEvent> = {
  category: "quota",
  initial,
  evolve,
  decide,
};

/** By the name of the stream (quotaStream): claims and drafts keep that, so that a send gives back what it reserved in whatever period. */
export const quotas = stream({ decider: quotaDecider, name: (name: string) => name });
