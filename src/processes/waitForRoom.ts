import type { Dependencies } from "#src/commands/dependencies.ts";
import type { DeliverySettings } from "./deliverySettings.ts";
import type { Acting, ProcessContext, Timer } from "./process.ts";
import type { Sending } from "./writePermission.ts";

/**
 * An attempt's wait for room at the provider. `since`: start in milliseconds. `giveUpAt`: set if the provider is
 * unreachable; the wait then counts as a try.
 */
export type Wait = { attemptId: string; since: number; giveUpAt: number | null };

/** Context for advancing a draft; `wait` if it has waited for room until now. */
export type Advancing = Acting & Pick<ProcessContext, "signal"> & { wait?: Wait };

const timerName = "room";

/**
 * Bounds of the timer in milliseconds. It wakes a draft if the instance that would have called it is gone, each
 * time after half of the time waited so far.
 */
const soonestMs = 10_000;
const latestMs = 600_000;

/** Shortest wait in milliseconds while other attempts find out if a provider is reachable again. */
const leastPatienceMs = 30_000;

/** Returns the wait stored in a timer; undefined if the timer is about something else. */
export const readWait = ({ name, payload }: Timer): Wait | undefined =>
  name === timerName ? (payload.wait as Wait) : undefined;

/**
 * Waiting for room at the provider counts as no try and occupies no lane: the provider, or a timer, wakes the draft. The wait is limited
 * only while the provider is unreachable, to the pause before the next try. So an unreachable provider fails a draft after the tries of
 * its schedule, in at most twice its time.
 */
export function waitForRoom(deps: Dependencies, { provider, retrySeconds }: DeliverySettings) {
  async function setTimer(draftId: string, wait: Wait, { timers }: Acting): Promise<void> {
    const now = deps.clock.now().getTime();
    const later = now + Math.min(latestMs, Math.max(soonestMs, (now - wait.since) / 2));
    const dueAt = new Date(Math.min(later, wait.giveUpAt ?? later));
    await timers.set({ key: draftId, name: timerName, dueAt, payload: { wait }, orWhen: provider.whenRoom?.(draftId) });
  }

  const isOver = ({ giveUpAt }: Wait) => giveUpAt !== null && deps.clock.now().getTime() >= giveUpAt;

  return {
    /** Waits; returns false if the draft has waited long enough. */
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
