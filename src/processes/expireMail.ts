import type { Dependencies } from "#src/commands/dependencies.ts";
import { expireMail as expirePage, type Retention } from "#src/commands/inbound/expireMail.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { Disposition, FilingDecision } from "#streams/filing/events.ts";
import type { Acting, NotYet, Process, ProcessContext } from "./process.ts";

const dayMs = 86_400_000;
const minuteMs = 60_000;
/** Maximum number of pages of mail that one run expires before other identities get their turn. */
const pagesAtOnce = 20;
const pauseMs = 100;

/**
 * Checks each identity with held or quarantined mail once a day, and expires mail that is older than the operator's retention. Runs even if
 * no retention is set, because the operator may set one at any time.
 */
export function expireMail(deps: Dependencies, retention: Retention): Process {
  /**
   * Sets tomorrow's timer. Its name contains the time of the check, so that the check runs once and is not postponed, however many mails
   * set the timer.
   */
  async function lookTomorrow(identityId: string, { timers }: Acting): Promise<void> {
    const dueAt = nextLook(identityId, deps.clock.now());
    await timers.set({ key: identityId, name: `look ${dueAt.toISOString()}`, dueAt });
  }

  const onKept = (event: Recorded, acting: Acting) => lookTomorrow(idOf(event.stream), acting);

  async function look(identityId: string, context: ProcessContext): Promise<NotYet | undefined> {
    const position = await deps.store.head();
    if (!(await context.reached(position, ["inbound"]))) return { waitFor: position, of: ["inbound"] };
    const workspaceId = context.cause.workspaceId as string;
    for (let pages = 0; pages < pagesAtOnce; pages++) {
      context.signal.throwIfAborted();
      const found = await expirePage(deps, { workspaceId, identityId, retention }, context.cause);
      if (found === "nothing kept") return;
      if (found === "some kept") {
        await lookTomorrow(identityId, context);
        return;
      }
    }
    return { againInMs: pauseMs };
  }

  return {
    name: "expireMail",
    categories: ["filing"],
    keyOf: (event) => idOf(event.stream),
    concerns: ({ type, data }) => type !== "FilingDecided" || isKept(data as FilingDecision),
    on: { FilingDecided: onKept, MailQuarantined: onKept },
    onTimer: ({ key: identityId }, context) => look(identityId, context),
    givingUp: "never",
  };
}

const keptBy: readonly Disposition[] = ["held_over_quota", "held_identity_disabled", "quarantined"];
const isKept = ({ disposition }: FilingDecision): boolean => keptBy.includes(disposition);

/** Returns the time of an identity's next check. Identities are spread over the minutes of the day (UTC). */
function nextLook(identityId: string, after: Date): Date {
  const minute = Number.parseInt(identityId.slice(-4), 16) % (dayMs / minuteMs);
  const midnight = Math.floor(after.getTime() / dayMs) * dayMs;
  const today = midnight + minute * minuteMs;
  return new Date(today > after.getTime() ? today : today + dayMs);
}
