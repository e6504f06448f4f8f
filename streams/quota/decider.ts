import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { type IdSet, includesId, noIds, withId } from "../idSet.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import type { QuotaEvent } from "./events.ts";

/**
 * State of a quota. It contains the id of every reservation of the period: each may be released once, and a released id must never be
 * reserved again; a forgotten one could be counted or released twice. Those of sent mail are included: the quota does not learn which they
 * are.
 */
export type Quota = { used: number; reserved: IdSet; released: IdSet };

export const isReserved = ({ reserved, released }: Quota, reservationId: string): boolean =>
  includesId(reserved, reservationId) && !includesId(released, reservationId);

export type QuotaCommand =
  /** `cap` null: no limit. `elsewhere`: amount that counts against it from other streams. */
  | { type: "ReserveQuota"; reservationId: string; cap: number | null; elsewhere?: number }
  /** Reserves as many of these as fit, in order; the result is visible by their ids. */
  | { type: "ReserveThoseThatFit"; reservationIds: readonly string[]; cap: number | null; elsewhere?: number }
  | { type: "ReleaseQuota"; reservationId: string };

const isKnown = ({ reserved, released }: Quota, id: string): boolean =>
  includesId(reserved, id) || includesId(released, id);

const initial: Quota = { used: 0, reserved: noIds, released: noIds };

function evolve(quota: Quota, event: QuotaEvent): Quota {
  switch (event.type) {
    case "QuotaReserved": {
      const { reservationId } = event.data;
      if (isKnown(quota, reservationId)) return quota;
      return { ...quota, used: quota.used + 1, reserved: withId(quota.reserved, reservationId) };
    }
    case "QuotaReleased": {
      const { reservationId } = event.data;
      if (includesId(quota.released, reservationId)) return quota;
      const used = quota.used - (isReserved(quota, reservationId) ? 1 : 0);
      return { ...quota, used, released: withId(quota.released, reservationId) };
    }
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
      return includesId(quota.released, reservationId) ? [] : [{ type: "QuotaReleased", data: { reservationId } }];
    }
    default:
      return unreachable(command);
  }
}

function reserve(command: Extract<QuotaCommand, { type: "ReserveQuota" }>, quota: Quota): QuotaEvent[] {
  const { reservationId } = command;
  if (isReserved(quota, reservationId)) return [];
  if (includesId(quota.released, reservationId)) throw new Rejected("send_in_progress", "this send was abandoned");
  if (command.cap !== null && quota.used + (command.elsewhere ?? 0) >= command.cap) {
    throw new Rejected(
      "plan_limit_reached",
      `your plan allows ${command.cap} outbound mails, which are all used: upgrade the plan`,
    );
  }
  return [{ type: "QuotaReserved", data: { reservationId } }];
}

function reserveThoseThatFit(
  { reservationIds, cap, elsewhere = 0 }: Extract<QuotaCommand, { type: "ReserveThoseThatFit" }>,
  quota: Quota,
): QuotaEvent[] {
  const fresh = [...new Set(reservationIds)].filter((id) => !isKnown(quota, id));
  const room = cap === null ? fresh.length : Math.max(0, cap - elsewhere - quota.used);
  return fresh.slice(0, room).map((reservationId) => ({ type: "QuotaReserved", data: { reservationId } }));
}

export const quotaDecider: Decider<Quota, QuotaCommand, QuotaEvent> = {
  category: "quota",
  initial,
  evolve,
  decide,
};

/**
 * Quotas by the name of the stream (quotaStream): claims and drafts store that, so that a send releases its reservation in whatever period
 * it was made.
 */
export const quotas = stream({ decider: quotaDecider, name: (name: string) => name });
