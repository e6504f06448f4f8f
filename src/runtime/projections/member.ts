import type { Projection } from "#projections/projection.ts";
import { asError, isPassing, type Log } from "./retrying.ts";

/**
 * `preparing`: its tables are made, or rebuilt if they have another version; `standingBy`: another instance writes it; `catchingUp` with the log;
 * `following` it; `failing`: its projector cannot take the next events and tries again; `outdated`: its tables belong to another version of the
 * service, which this instance leaves alone.
 */
export type State = "preparing" | "standingBy" | "catchingUp" | "following" | "failing" | "outdated";

/** A read model as this instance knows it. `failed`: the position before the events that its projector failed on, and how often. */
export type Member = {
  projection: Projection;
  position: number;
  state: State;
  error?: Error;
  failed?: { position: number; times: number };
};

/** How often a projector may fail on the same events before the main group goes on without it. */
const mostFailures = 3;

export const names = (members: readonly Member[]): string[] => members.map(({ projection }) => projection.name);

/** Its rows are written up to a position. */
export function settle(member: Member, { position, follows }: { position: number; follows: boolean }, log: Log): void {
  member.position = position;
  recovered(member, log);
  if (follows || member.state !== "following") member.state = follows ? "following" : "catchingUp";
}

export function recovered(member: Member, log: Log): void {
  if (member.error) log.info({ projection: member.projection.name }, "projection has recovered");
  delete member.error;
  delete member.failed;
}

export function failed(member: Member, error: unknown): void {
  member.error = asError(error);
  if (!isPassing(error)) member.state = "failing";
}

/** True once it has failed often enough at the same position. */
export function failsAgain(member: Member): boolean {
  const times = member.failed?.position === member.position ? member.failed.times + 1 : 1;
  member.failed = { position: member.position, times };
  return times >= mostFailures;
}

/** An instance leaves tables alone that belong to another version of the service. */
export function noteVersion(member: Member, stored: number | undefined, log: Log): void {
  const { name, version } = member.projection;
  if (stored === version || member.state === "outdated" || member.state === "preparing") return;
  member.state = "outdated";
  const details = { projection: name, version, stored };
  log.warn(details, "the read model belongs to another version of the service, leaving it alone");
}
