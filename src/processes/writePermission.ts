import { withdrawalOf } from "#src/commands/approvals/approvalStanding.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { lookAnew } from "#src/commands/sends/lookAnew.ts";
import { sendingStanding } from "#src/commands/sends/sendingAllowed.ts";
import type { MayWrite } from "#src/mail/mailProvider.ts";
import type { SendingDraft } from "#streams/draft/draft.ts";

/** A look at thread and inbox is good for this long, in milliseconds: before the first byte of content an older one is repeated. */
const lookGoodForMs = 5_000;
/** If even the repeated one is older by the time of the first byte, nothing is written: this process was away. */
const lookUsableForMs = 10_000;

export type Sending = { draftId: string; draft: SendingDraft };

export type WritePermission = {
  mayWrite: MayWrite;
  /** From here on nothing may be written. */
  giveUp(): void;
  /** The service itself did not let the mail go. */
  isWithheld(): boolean;
};

/**
 * Whether the first byte of content may be written, asked right before it. `lookedAt`: when thread and inbox were looked at, by the monotonic
 * clock. A relay may take minutes to accept the recipients: then everything that let the mail start is looked at again, and that nobody has
 * taken the attempt over meanwhile. What cannot be found out then is withheld, and tried again.
 */
export function writePermission(
  deps: Dependencies,
  { sending, lookedAt: firstLook }: { sending: Sending; lookedAt: number },
  cause: Cause,
): WritePermission {
  let lookedAt = firstLook;
  let withheld = false;
  let givenUp = false;
  const age = () => deps.clock.monotonic() - lookedAt;
  const standsStill = async (): Promise<boolean> => {
    const { draft } = sending;
    const besides = async () => {
      const [standing, delivery] = await Promise.all([
        sendingStanding(deps, draft),
        deps.deliveries.load(draft.attemptId),
      ]);
      return { stands: standing.state === "allowed" && delivery.state.phase === "started" };
    };
    const look = await lookAnew(deps, { ...sending, besides }, cause);
    return look.is === "good" && look.stands;
  };
  const isGood = async (): Promise<boolean> => {
    if (age() > lookGoodForMs) {
      const now = deps.clock.monotonic();
      if (!(await standsStill())) return false;
      lookedAt = now;
    }
    return (await withdrawalOf(deps, sending.draftId, sending.draft)) === null;
  };
  return {
    async mayWrite() {
      if (givenUp) return false;
      withheld = !(await isGood().catch(() => false));
      return !withheld && !givenUp && age() <= lookUsableForMs;
    },
    giveUp: () => {
      givenUp = true;
    },
    isWithheld: () => withheld,
  };
}
