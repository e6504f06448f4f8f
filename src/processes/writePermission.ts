import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { checkDraftSendable } from "#src/commands/sends/sendChecks.ts";
import type { MayStillSend } from "#src/mail/mailProvider.ts";
import type { SendingDraft } from "#streams/draft/draft.ts";

/** Milliseconds for which a check of thread and inbox stays valid. An older check is repeated before the first byte of content. */
const lookGoodForMs = 5_000;
/**
 * Maximum age in milliseconds of the repeated check at the first byte. If it is older, this operating-system process was suspended, and
 * nothing is written.
 */
const lookUsableForMs = 10_000;

export type Sending = { draftId: string; draft: SendingDraft };

export type WritePermission = {
  mayWrite: MayStillSend;
  /** Forbids all writing from now on. */
  giveUp(): void;
  /** Returns true if the service itself withheld the mail. */
  isWithheld(): boolean;
};

/**
 * Decides right before the first byte of content if it may be written. `lookedAt`: monotonic time of the last check of thread and inbox.
 * Because a relay may take minutes to accept the recipients, everything that allowed the start is then checked again, and also that no
 * other run has taken over the attempt. If the check fails, the mail is withheld and tried again.
 */
export function createWritePermission(
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
    const { no } = await checkDraftSendable(
      deps,
      { moment: isOld ? "late first byte" : "first byte", ...sending },
      cause,
    );
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
