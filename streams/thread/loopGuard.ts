import { Rejected } from "../decider.ts";
import { entriesOf } from "../idMap.ts";
import { isFromMachine, type KindedMail } from "../inbox/mailKinds.ts";
import type { Thread } from "./thread.ts";

/**
 * Enforces the loop guard: at most one answer to a machine per thread and pair of addresses, because two machines could answer each other
 * for ever. Throws Rejected loop_guarded.
 */
export function requireNoLoop(
  thread: Pick<Thread, "machineAnswers">,
  { draftId, machineAddresses = [] }: { draftId: string; machineAddresses?: readonly string[] },
): void {
  if (machineAddresses.length === 0) return;
  const others = entriesOf(thread.machineAnswers).filter(([id]) => id !== draftId);
  const again = machineAddresses.find((address) => others.some(([, answered]) => answered.includes(address)));
  if (again === undefined) return;
  throw new Rejected(
    "loop_guarded",
    `automatic mail from ${again} has already been answered once on this thread, which is the limit: write to a person instead`,
  );
}

/** Returns the recipients' addresses, in lower case, of a draft that answers a machine. */
export const machineAddresses = (message: KindedMail, to: readonly string[]): { machineAddresses?: string[] } =>
  isFromMachine(message) ? { machineAddresses: to.map((address) => address.toLowerCase()) } : {};
