import { LRUCache } from "lru-cache";

/** How much of one sender's mail an identity takes within a window. */
export type BudgetLimits = { messages: number; bytes: number; windowMs: number };

type Amount = { messages: number; bytes: number };
type Spent = Amount & { until: number; told: boolean };

export type Budget = {
  /** Whether so many more messages fit. Spends nothing. */
  fits(sender: string, identity: string, messages: number): boolean;
  /** Takes what a mail costs; undefined if it does not fit. Returns how to give it back, for mail that could not be stored. */
  spend(sender: string, identity: string, amount: Amount): (() => void) | undefined;
};

/** Windows that are kept at most. Above it the one used least recently is forgotten: who has so many addresses is let off rather than remembered. */
const maxKept = 20_000;

/**
 * Counts what each sender (an address) has sent each identity, from the first message of a window on. One message always fits into a new
 * window, however large: otherwise it would be refused for ever. `onOver` is called once for each window that is used up.
 */
export function createBudget(
  limits: BudgetLimits,
  { now, onOver }: { now: () => number; onOver(sender: string, identity: string): void },
): Budget {
  const windows = new LRUCache<string, Spent>({ max: maxKept });

  function current(key: string): Spent | undefined {
    const spent = windows.get(key);
    return spent && spent.until > now() ? spent : undefined;
  }

  function begin(key: string): Spent {
    const spent = { messages: 0, bytes: 0, until: now() + limits.windowMs, told: false };
    windows.set(key, spent);
    return spent;
  }

  function isOver(spent: Spent | undefined, { messages, bytes }: Amount): boolean {
    if (!spent || spent.messages === 0) return messages > limits.messages;
    return spent.messages + messages > limits.messages || spent.bytes + bytes > limits.bytes;
  }

  function tell(sender: string, identity: string, spent: Spent | undefined): void {
    if (!spent || spent.told) return;
    spent.told = true;
    onOver(sender, identity);
  }

  return {
    fits(sender, identity, messages) {
      const spent = current(`${sender} ${identity}`);
      // A byte more: a window that is full takes nothing at all.
      const over = isOver(spent, { messages, bytes: 1 });
      if (over) tell(sender, identity, spent);
      return !over;
    },
    spend(sender, identity, amount) {
      const key = `${sender} ${identity}`;
      const spent = current(key) ?? begin(key);
      if (isOver(spent, amount)) {
        tell(sender, identity, spent);
        return undefined;
      }
      spent.messages += amount.messages;
      spent.bytes += amount.bytes;
      return () => {
        spent.messages -= amount.messages;
        spent.bytes -= amount.bytes;
      };
    },
  };
}
