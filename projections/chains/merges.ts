import type { FilingDecision } from "#streams/filing/events.ts";
import type { ProjectorTx, Tx } from "../projection.ts";
import { jsonRows, upsertRows } from "../rows.ts";

/** A group of merged threads. Its id has no meaning; `survivorId` is the thread that represents them. */
type MergedGroup = {
  id: string;
  survivorId: string;
  members: number;
  /** True if it is stored in the table. */
  stored: boolean;
  /** The group that its members were moved to. */
  into: MergedGroup | null;
};

/**
 * Joins threads that mails have merged into one group each. The members of the smaller of two groups move, whichever thread survives: so a
 * thread moves only a few times, however many merges follow each other, and a look-up takes one step.
 */
export async function addMerges(
  tx: ProjectorTx,
  decisions: readonly Pick<FilingDecision, "threadId" | "absorbs">[],
): Promise<void> {
  const merges = decisions.filter(({ absorbs }) => absorbs.length > 0);
  if (merges.length === 0) return;
  const threads = [...new Set(merges.flatMap(({ threadId, absorbs }) => [threadId, ...absorbs]))];
  const groups = await groupsOf(tx, threads);
  for (const { threadId, absorbs } of merges) {
    for (const absorbed of absorbs) join(groupOf(groups, threadId), groupOf(groups, absorbed), threadId);
  }
  store(tx, groups);
}

async function groupsOf(tx: Tx, threads: readonly string[]): Promise<Map<string, MergedGroup>> {
  const { rows } = await tx.query<{ thread_id: string; group_id: string; survivor_id: string; members: number }>(
    `select thread_id, group_id, survivor_id, members from chain_merged join chain_groups using (group_id)
     where thread_id = any($1::uuid[])`,
    [threads],
  );
  const known = new Map<string, MergedGroup>();
  const groups = new Map<string, MergedGroup>();
  for (const { thread_id, group_id: id, survivor_id: survivorId, members } of rows) {
    const group = known.get(id) ?? { id, survivorId, members, stored: true, into: null };
    known.set(id, group);
    groups.set(thread_id, group);
  }
  for (const id of threads) {
    if (!groups.has(id)) groups.set(id, { id, survivorId: id, members: 1, stored: false, into: null });
  }
  return groups;
}

/** Returns a thread's present group: a few steps away, since the smaller one moves each time. */
const groupOf = (groups: ReadonlyMap<string, MergedGroup>, threadId: string): MergedGroup =>
  lastOf(groups.get(threadId) as MergedGroup);

function lastOf(group: MergedGroup): MergedGroup {
  let last = group;
  while (last.into !== null) last = last.into;
  return last;
}

function join(one: MergedGroup, other: MergedGroup, survivorId: string): void {
  if (one === other) return;
  const [larger, smaller] = one.members >= other.members ? [one, other] : [other, one];
  larger.members += smaller.members;
  larger.survivorId = survivorId;
  smaller.into = larger;
}

function store(tx: ProjectorTx, groups: ReadonlyMap<string, MergedGroup>): void {
  const all = [...new Set(groups.values())];
  const moved = all.filter(({ stored, into }) => stored && into !== null);
  if (moved.length > 0) {
    tx.write(
      `update chain_merged set group_id = moved.into_id from json_to_recordset($1::json) as moved (id uuid, into_id uuid)
       where chain_merged.group_id = moved.id`,
      [jsonRows(moved.map((group) => ({ id: group.id, into_id: lastOf(group).id })))],
    );
    tx.write("delete from chain_groups where group_id = any($1::uuid[])", [moved.map(({ id }) => id)]);
  }
  const present = all.filter(({ into }) => into === null);
  upsertRows(
    tx,
    { table: "chain_groups", columns: ["group_id", "survivor_id", "members"], key: ["group_id"] },
    present.map(({ id, survivorId, members }) => ({ group_id: id, survivor_id: survivorId, members })),
  );
  upsertRows(
    tx,
    { table: "chain_merged", columns: ["thread_id", "group_id"], key: ["thread_id"] },
    [...groups].map(([thread_id, group]) => ({ thread_id, group_id: lastOf(group).id })),
  );
}
