import type { Guard } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";
import { type InstallationEvent, installationStream, theInstallation } from "#streams/installation/events.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";

/** Thrown if mail is to be sent while the operator has paused all sending. `obstacles`: the stream whose next event may end the pause. */
export class PausedByOperator extends Error {
  override readonly name = "PausedByOperator";
  readonly obstacles: readonly Guard[];
  constructor(pause: Guard) {
    super("the operator has paused this installation: nothing is sent until it is resumed");
    this.obstacles = [pause];
  }
}

/** Returns the revision of the installation's stream, and if the operator has paused sending. */
export async function installationNow(
  deps: Pick<Dependencies, "installations">,
): Promise<{ paused: boolean; guard: Guard }> {
  const { state, revision } = await deps.installations.load(theInstallation);
  return { paused: state.paused, guard: { stream: installationStream(theInstallation), revision } };
}

/** Throws PausedByOperator while the operator has paused all sending. Called right before anything other than a draft is sent. */
export async function requireNotPaused(deps: Pick<Dependencies, "installations">): Promise<void> {
  const { paused, guard } = await installationNow(deps);
  if (paused) throw new PausedByOperator(guard);
}

/** Pauses all sending. After it returns, no new hand-over begins. Returns false if sending was already paused. */
export async function pauseInstallation(
  deps: Pick<Dependencies, "installations">,
  reason: string | null,
  cause: Cause,
): Promise<boolean> {
  return (await deps.installations.handle(theInstallation, { type: "PauseInstallation", reason }, cause)).changed;
}

/** Resumes sending, so that waiting mail is sent. Returns false if sending was not paused. */
export async function resumeInstallation(
  deps: Pick<Dependencies, "installations">,
  reason: string | null,
  cause: Cause,
): Promise<boolean> {
  return (await deps.installations.handle(theInstallation, { type: "ResumeInstallation", reason }, cause)).changed;
}

/**
 * Returns the present pause: its start (ISO 8601), the operator who paused, and their reason, if any. Returns undefined if sending is not
 * paused.
 */
export async function pauseInForce(
  deps: Pick<Dependencies, "store">,
): Promise<{ since: string; by: string; reason: string | null } | undefined> {
  const last = (await deps.store.readLast(installationStream(theInstallation))) as
    | Recorded<InstallationEvent>
    | undefined;
  if (last?.type !== "InstallationPaused") return undefined;
  return { since: last.metadata.at, by: last.metadata.actor.id, reason: last.data.reason };
}
