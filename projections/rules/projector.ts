import type { RuleEvent } from "#streams/rule/events.ts";
import type { Projection } from "../projection.ts";
import { foldRows } from "../rows.ts";
import { evolveRule, ruleColumns, type StoredRule } from "./row.ts";

export const rules: Projection<RuleEvent> = {
  name: "rules",
  version: 1,
  tables: ["rules"],
  handles: ["RuleCreated", "RuleUpdated", "RuleSecretsResealed", "RuleDeleted"],
  project: foldRows<StoredRule, RuleEvent>({
    table: "rules",
    columns: ruleColumns,
    evolve: evolveRule,
  }),
};
