import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type AuditEpochEvent, auditEpochStream, type LastHead } from "./events.ts";

/** The epoch of an audit tree, from 1. A new one begins when the log no longer continues a signed head, as after a restore. */
export type AuditEpoch = { epoch: number };

/**
 * `known`: the newest epoch that a signed head names, which may be newer than a restored log. If it is older than the present epoch, that
 * one has begun and has no head yet: a repeated command begins no other.
 */
export type AuditEpochCommand = { type: "BeginEpoch"; known: number; last: LastHead; reason: string };

function evolve(_: AuditEpoch, event: AuditEpochEvent): AuditEpoch {
  return event.type === "AuditEpochBegun" ? { epoch: event.data.epoch } : unreachable(event.type);
}

export const auditEpochDecider: Decider<AuditEpoch, AuditEpochCommand, AuditEpochEvent> = {
  category: "auditEpoch",
  initial: { epoch: 1 },
  evolve,
  decide: ({ known, last, reason }, { epoch }) =>
    known < epoch ? [] : [{ type: "AuditEpochBegun", data: { epoch: known + 1, last, reason } }],
};

export const auditEpochs = stream({ decider: auditEpochDecider, name: auditEpochStream });
