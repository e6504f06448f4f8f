import { LRUCache } from "lru-cache";

/** Maximum mail that an identity accepts from one sender within a window. */
export type BudgetLimits = { messages: number; bytes: number; windowMs: number };

type Amount = { messages: number; bytes: number };
type Spent = Amount & { until: number; told: boolean };

export type Budget = {
  /** True if this many more messages fit. Spends nothing. */
  fits(sender: string, identity: string, messages: number): boolean;
  /** Spends the cost of a mail; undefined if it does not fit. Returns a function that refunds it, for mail that could not be stored. */
  spend(sender: string, identity: string, amount: Amount): (() => void) | undefined;
};

/**
 * Maximum number of windows kept. Beyond that the least recently used window is forgotten, so a sender with that many addresses escapes
 * the limit.
 */
const maxKept = 20_000;

/**
 * Counts what each sender (an address) has sent to each identity, from the first message of a window on. One message of any size fits
 * into a new window: otherwise it could never be accepted. `onOver` is called once per used-up window.
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
      // Asks for one more byte, because a full window accepts nothing.
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
