import type { Findings, ReceivedMail } from "./findings.ts";

/** What the two threads say to each other. */
export type ToThread =
  | { kind: "verify"; job: number; mail: Omit<ReceivedMail, "raw"> & { raw: Uint8Array } }
  /** `code`: the failure as node:dns names it; null if there is an answer. */
  | { kind: "answer"; lookUp: number; code: string | null; answer: unknown }
  | { kind: "ping" };

export type FromThread =
  | { kind: "pong" }
  | { kind: "look_up"; job: number; lookUp: number; name: string; type: string }
  | { kind: "findings"; job: number; findings: Findings }
  | { kind: "failed"; job: number; reason: string };
