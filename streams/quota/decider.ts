import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import type { QuotaEvent } from "./events.ts";

export type Standing = "reserved" | "released";

/** Ids, by how their reservations stand. */
type Group = Readonly<Record<Standing, readonly string[]>>;

/**
 * `reservations` is in groups by the end of their ids: with 15,000 sends a period, a copy of all of them per event would make a fold
 * quadratic; a copy of one group is small.
 */
export type Quota = { used: number; reservations: readonly Group[] };

const groups = 64;
/** Ids end in hexadecimal digits, at random. */
const groupOf = (reservationId: string): number => Number.parseInt(reservationId.slice(-2), 16) % groups || 0;

/** How a reservation stands; undefined for one that never was. */
export function reservationOf({ reservations }: Quota, reservationId: string): Standing | undefined {
  const { reserved, released } = reservations[groupOf(reservationId)]!;
  if (reserved.includes(reservationId)) return "reserved";
  return released.includes(reservationId) ? "released" : undefined;
}

export type QuotaCommand =
  /** `cap` null: no limit. `elsewhere`: what counts against it beside this stream. */
  | { type: "ReserveQuota"; reservationId: string; cap: number | null; elsewhere?: number }
  /** As many of these as fit, from the first; what they are for is known by their ids afterwards. */
  | { type: "ReserveThoseThatFit"; reservationIds: readonly string[]; cap: number | null; elsewhere?: number }
  | { type: "ReleaseQuota"; reservationId: string };

const initial: Quota = { used: 0, reservations: Array(groups).fill({ reserved: [], released: [] }) };

function evolve(quota: Quota, event: QuotaEvent): Quota {
  switch (event.type) {
    case "QuotaReserved": {
      const { reservationId } = event.data;
      if (reservationOf(quota, reservationId) !== undefined) return quota;
      return changed(quota, reservationId, ({ reserved, released }) => ({
        reserved: [...reserved, reservationId],
        released,
      }));
    }
    case "QuotaReleased": {
      const { reservationId } = event.data;
      if (reservationOf(quota, reservationId) === "released") return quota;
      return changed(quota, reservationId, ({ reserved, released }) => ({
        reserved: reserved.filter((id) => id !== reservationId),
        released: [...released, reservationId],
      }));
    }
    default:
      return unreachable(event);
  }
}

function changed({ used, reservations }: Quota, reservationId: string, change: (group: Group) => Group): Quota {
  const at = groupOf(reservationId);
  const before = reservations[at]!;
  const after = change(before);
  return { used: used + after.reserved.length - before.reserved.length, reservations: reservations.with(at, after) };
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
