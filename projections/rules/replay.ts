import { idOf, type Recorded } from "#streams/event.ts";
import type { RuleEvent } from "#streams/rule/events.ts";
import { asRead } from "../rows.ts";
import type { RuleRow } from "./queries.ts";
import { evolveRule, ruleColumns, type StoredRule } from "./row.ts";

const times = ["created_at", "updated_at", "deleted_at"];

/** Returns a rule as its row was after these events, which begin with its first; undefined if there are none. */
export function ruleAfter(events: readonly Recorded<RuleEvent>[]): (RuleRow & { deleted_at: Date | null }) | undefined {
  const [first] = events;
  if (!first) return undefined;
  const row = events.reduce<StoredRule>(evolveRule, { id: idOf(first.stream) });
  return asRead(row, { columns: ruleColumns, times });
}
