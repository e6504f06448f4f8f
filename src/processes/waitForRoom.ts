import type { Dependencies } from "#src/commands/dependencies.ts";
import type { DeliverySettings } from "./deliverySettings.ts";
import type { Acting, ProcessContext, Timer } from "./process.ts";
import type { Sending } from "./writePermission.ts";

/**
 * An attempt waits for room at the provider since then (milliseconds of the clock). `giveUpAt`: the provider is away, and then the wait
 * counts as a try.
 */
export type Wait = { attemptId: string; since: number; giveUpAt: number | null };

/** What a draft is brought on with; `wait` where it has waited for room until now. */
export type Advancing = Acting & Pick<ProcessContext, "signal"> & { wait?: Wait };

const timerName = "room";

/**
 * Milliseconds. In case the instance that would call a draft is gone, it also comes by itself, each time after half of what it has waited until
 * then, within these bounds.
 */
const soonestMs = 10_000;
const latestMs = 600_000;

/** At least so long one waits for others to find out whether a provider is back. */
const leastPatienceMs = 30_000;

/** The wait that a timer is about; undefined if it is about none. */
export const waitOf = ({ name, payload }: Timer): Wait | undefined =>
  name === timerName ? (payload.wait as Wait) : undefined;

/**
 * Waiting for room at the provider is no try and no failure, and it takes up no lane: the provider calls the draft back, or a timer does. Only
 * where the provider is away the waiting ends, after as long as the pause before the next try would be: so a provider that stays away fails a
 * draft in the tries of its schedule, and in at most twice its time.
 */
export function waiting(deps: Dependencies, { provider, retrySeconds }: DeliverySettings) {
  async function setTimer(draftId: string, wait: Wait, { timers }: Acting): Promise<void> {
    const now = deps.clock.now().getTime();
    const later = now + Math.min(latestMs, Math.max(soonestMs, (now - wait.since) / 2));
    const dueAt = new Date(Math.min(later, wait.giveUpAt ?? later));
    await timers.set({ key: draftId, name: timerName, dueAt, payload: { wait }, orWhen: provider.whenRoom?.(draftId) });
  }

  const isOver = ({ giveUpAt }: Wait) => giveUpAt !== null && deps.clock.now().getTime() >= giveUpAt;

  return {
    /** Waits; false where it has waited long enough. */
    async wait({ draftId, draft }: Sending, { away }: { away: boolean }, acting: Advancing): Promise<boolean> {
      const now = deps.clock.now().getTime();
      const { attemptId, tries } = draft;
      const before = acting.wait?.attemptId === attemptId ? acting.wait : undefined;
      const pauseMs = (retrySeconds[tries] ?? retrySeconds.at(-1) ?? 0) * 1000;
      const giveUpAt = away ? (before?.giveUpAt ?? now + Math.max(leastPatienceMs, pauseMs)) : null;
      const wait = { attemptId, since: before?.since ?? now, giveUpAt };
      if (isOver(wait)) return false;
      await setTimer(draftId, wait, acting);
      return true;
    },
  };
}
