import type { Projection } from "#projections/projection.ts";
import { asError, isTransient, type RunnerLog } from "./retrying.ts";

/**
 * `preparing`: its tables are created, or rebuilt if they have another version; `standingBy`: another instance writes it; `catchingUp`:
 * behind the log; `following`: at the log's end; `failing`: its projector fails on the next events and retries; `outdated`: its tables
 * belong to another version of the service, and this instance does not touch them.
 */
export type MemberState = "preparing" | "standingBy" | "catchingUp" | "following" | "failing" | "outdated";

/** A read model as this instance knows it. `failed`: the position before the events on which its projector failed, and how often. */
export type GroupMember = {
  projection: Projection;
  position: number;
  state: MemberState;
  error?: Error;
  failed?: { position: number; times: number };
};

/** Failures of a projector on the same events after which it is ejected from the main group. */
const mostFailures = 3;

export const memberNames = (members: readonly GroupMember[]): string[] =>
  members.map(({ projection }) => projection.name);

/** Records that its rows are written up to a position. */
export function markWritten(
  member: GroupMember,
  { position, follows }: { position: number; follows: boolean },
  log: RunnerLog,
): void {
  member.position = position;
  markRecovered(member, log);
  if (follows || member.state !== "following") member.state = follows ? "following" : "catchingUp";
}

export function markRecovered(member: GroupMember, log: RunnerLog): void {
  if (member.error) log.info({ projection: member.projection.name }, "projection has recovered");
  delete member.error;
  delete member.failed;
}

export function markFailed(member: GroupMember, error: unknown): void {
  member.error = asError(error);
  if (!isTransient(error)) member.state = "failing";
}

/** Counts a failure. True once it has failed `mostFailures` times at the same position. */
export function countFailure(member: GroupMember): boolean {
  const times = member.failed?.position === member.position ? member.failed.times + 1 : 1;
  member.failed = { position: member.position, times };
  return times >= mostFailures;
}

/** Marks a read model as outdated if its tables belong to another version of the service. */
export function noteVersion(member: GroupMember, stored: number | undefined, log: RunnerLog): void {
  const { name, version } = member.projection;
  if (stored === version || member.state === "outdated" || member.state === "preparing") return;
  member.state = "outdated";
  const details = { projection: name, version, stored };
  log.warn(details, "the read model belongs to another version of the service, leaving it alone");
}
