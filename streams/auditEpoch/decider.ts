import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { type AuditEpochEvent, auditEpochStream, type LastHead } from "./events.ts";

/** The epoch of an audit tree, from 1. A new one begins when the log no longer continues a signed head, as after a restore. */
export type AuditEpoch = { epoch: number };

export type AuditEpochCommand = { type: "BeginEpoch"; last: LastHead; reason: string };

export const auditEpochDecider: Decider<AuditEpoch, AuditEpochCommand, AuditEpochEvent> = {
  category: "auditEpoch",
  initial: { epoch: 1 },
  evolve: (_, { data }) => ({ epoch: data.epoch }),
  decide: ({ last, reason }, { epoch }) => [{ type: "AuditEpochBegun", data: { epoch: epoch + 1, last, reason } }],
};

export const auditEpochs = stream({ decider: auditEpochDecider, name: auditEpochStream });
