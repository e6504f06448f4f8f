import type { Event } from "../event.ts";

/** The newest signed head of an audit tree when an epoch ended: its size, and its root in base64. Size 0: there was none. */
export type LastHead = { origin: string; size: number; root: string };

export type AuditEpochEvent = Event<"AuditEpochBegun", { epoch: number; last: LastHead; reason: string }>;

export const auditEpochStream = (treeId: string): string => `auditEpoch-${treeId}`;
