import { updateCounts } from "../counts.ts";
import type { Projection } from "../projection.ts";
import { evaluationCounts } from "./counts.ts";

/** Old runs are removed with their evaluations. An action that is recorded afterwards about a removed evaluation changes nothing. */
export const prune: Required<Projection>["prune"] = {
  table: "rule_runs",
  key: "id",
  time: "evaluated_at",
  async remove(tx, ids) {
    tx.write("delete from rule_runs where id = any($1::uuid[])", [ids]);
    const { rows } = await tx.query(
      "delete from rule_evaluations where run_id = any($1::uuid[]) returning workspace_id, rule_id, matched",
      [ids],
    );
    updateCounts(tx, evaluationCounts, { before: rows, after: [] });
  },
};
