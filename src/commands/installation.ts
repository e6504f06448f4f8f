import type { Guard } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";
import { type InstallationEvent, installationStream, theInstallation } from "#streams/installation/events.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";

/** Something was about to leave while the operator lets nothing leave. `obstacles`: the stream whose next event may end that. */
export class PausedByOperator extends Error {
  override readonly name = "PausedByOperator";
  readonly obstacles: readonly Guard[];
  constructor(pause: Guard) {
    super("the operator has paused this installation: nothing leaves until it is resumed");
    this.obstacles = [pause];
  }
}

/** The installation's stream as it is now, and whether the operator has paused it. */
export async function installationNow(
  deps: Pick<Dependencies, "installations">,
): Promise<{ paused: boolean; guard: Guard }> {
  const { state, revision } = await deps.installations.load(theInstallation);
  return { paused: state.paused, guard: { stream: installationStream(theInstallation), revision } };
}

/** Throws PausedByOperator while the operator lets nothing leave. Asked right before anything does that is no draft. */
export async function requireNotPaused(deps: Pick<Dependencies, "installations">): Promise<void> {
  const { paused, guard } = await installationNow(deps);
  if (paused) throw new PausedByOperator(guard);
}

/** From its answer on nothing leaves that had not begun to. False if that was so before. */
export async function pauseInstallation(
  deps: Pick<Dependencies, "installations">,
  reason: string | null,
  cause: Cause,
): Promise<boolean> {
  return (await deps.installations.handle(theInstallation, { type: "PauseInstallation", reason }, cause)).changed;
}

/** What has waited leaves. False if nothing was paused. */
export async function resumeInstallation(
  deps: Pick<Dependencies, "installations">,
  reason: string | null,
  cause: Cause,
): Promise<boolean> {
  return (await deps.installations.handle(theInstallation, { type: "ResumeInstallation", reason }, cause)).changed;
}

/** The pause that holds now: since when (ISO 8601), by whom, and why if that was said. Undefined if there is none. */
export async function pauseInForce(
  deps: Pick<Dependencies, "store">,
): Promise<{ since: string; by: string; reason: string | null } | undefined> {
  const last = (await deps.store.readLast(installationStream(theInstallation))) as
    | Recorded<InstallationEvent>
    | undefined;
  if (last?.type !== "InstallationPaused") return undefined;
  return { since: last.metadata.at, by: last.metadata.actor.id, reason: last.data.reason };
}
