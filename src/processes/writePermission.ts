import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { mayLeave } from "#src/commands/sends/mayLeave.ts";
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
  const isGood = async (): Promise<boolean> => {
    const isOld = age() > lookGoodForMs;
    const now = deps.clock.monotonic();
    const { no } = await mayLeave(deps, { moment: isOld ? "late first byte" : "first byte", ...sending }, cause);
    if (isOld && !no) lookedAt = now;
    return !no;
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
