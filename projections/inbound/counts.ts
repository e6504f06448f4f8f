import { addCounts, type Counts } from "../counts.ts";
import type { ProjectorTx } from "../projection.ts";

/** Number of deliveries by identity and disposition. */
const inboundCounts: Counts = { table: "inbound_counts", dimensions: ["workspace_id", "identity_id", "disposition"] };

/** Identity, in the counts, of mail to an address of no identity. */
const noIdentity = "'00000000-0000-0000-0000-000000000000'";

/** Condition on the counts: those of an identity. */
export const countsOfIdentity = `identity_id = nullif({n}, ${noIdentity}::uuid)`;

/** Changes rows by `write`, and their counts: takes these deliveries off as stored before it, and adds them as stored after it. */
export function countChanges(tx: ProjectorTx, ids: readonly string[], write: () => void): void {
  if (ids.length === 0) return;
  const add = (by: "+" | "-"): void =>
    addCounts(tx, inboundCounts, {
      select: `select workspace_id, coalesce(identity_id, ${noIdentity}), disposition, ${by} count(*)
        from inbound where id = any($1::uuid[]) group by 1, 2, 3`,
      values: [ids],
    });
  add("-");
  write();
  add("+");
  tx.write(
    `delete from inbound_counts where count = 0
       and workspace_id in (select workspace_id from inbound where id = any($1::uuid[]))`,
    [ids],
  );
}
