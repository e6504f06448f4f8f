import { withdrawalOf } from "#src/commands/approvals/approvalStanding.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { lookAnew } from "#src/commands/sends/lookAnew.ts";
import type { MayWrite } from "#src/mail/mailProvider.ts";
import type { SendingDraft } from "#streams/draft/draft.ts";

/** A look at thread and inbox is good for this long, in milliseconds: before the first byte of content an older one is repeated. */
const lookGoodForMs = 5_000;
/** With an older one nothing is written: this process, or the provider, was away for too long. */
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
 * clock. What cannot be found out then is withheld, and tried again.
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
    if (age() > lookGoodForMs) {
      const now = deps.clock.monotonic();
      if ((await lookAnew(deps, sending, cause)).is !== "good") return false;
      lookedAt = now;
    }
    return (await withdrawalOf(deps, sending.draftId, sending.draft)) === null;
  };
  return {
    async mayWrite() {
      if (givenUp || age() > lookUsableForMs) return false;
      withheld = !(await isGood().catch(() => false));
      return !withheld && !givenUp && age() <= lookUsableForMs;
    },
    giveUp: () => {
      givenUp = true;
    },
    isWithheld: () => withheld,
  };
}
