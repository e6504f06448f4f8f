import type { Counts } from "../counts.ts";

/** Number of evaluations of each rule, by whether it matched. Code that removes evaluations updates it too. */
export const evaluationCounts: Counts = {
  table: "rule_evaluation_counts",
  dimensions: ["workspace_id", "rule_id", "matched"],
};
