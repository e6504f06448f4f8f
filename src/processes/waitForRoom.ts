import type { Dependencies } from "#src/commands/dependencies.ts";
import type { DeliverySettings } from "./deliverySettings.ts";
import type { Acting, ProcessContext, Timer } from "./process.ts";
import type { Sending } from "./writePermission.ts";

/**
 * The wait of an attempt for room at the provider. `since`: start of the wait in milliseconds since 1970. `giveUpAt`: end of the wait, set
 * if the provider is unreachable; the wait then counts as a try.
 */
export type Wait = { attemptId: string; since: number; giveUpAt: number | null };

/** Context for advancing a draft. `wait`: set if the draft has waited for room until now. */
export type Advancing = Acting & Pick<ProcessContext, "signal"> & { wait?: Wait };

const timerName = "room";

/**
 * Minimum and maximum delay of the timer in milliseconds. The timer wakes a draft in case the instance that would have woken it is gone,
 * each time after half of the time waited so far.
 */
const soonestMs = 10_000;
const latestMs = 600_000;

/** Minimum wait in milliseconds while other attempts find out if the provider is reachable again. */
const leastPatienceMs = 30_000;

/** Returns the wait stored in a timer; undefined if the timer is about something else. */
export const readWait = ({ name, payload }: Timer): Wait | undefined =>
  name === timerName ? (payload.wait as Wait) : undefined;

/**
 * Lets drafts wait for room at the provider. Waiting does not count as a try and occupies no lane: the provider or a timer wakes the draft.
 * Only while the provider is unreachable is the wait limited, to the pause before the next try. An unreachable provider therefore fails a
 * draft after the tries of its schedule, in at most twice the schedule's time.
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
    /** Starts or continues the wait. Returns false if the draft has waited long enough. */
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
