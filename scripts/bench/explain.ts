import { listContacts } from "#projections/contacts/queries.ts";
import { listDrafts } from "#projections/drafts/queries.ts";
import {
  conversationLines,
  heldOfThread,
  lastOfThread,
  listMessages,
  newestMessages,
} from "#projections/messages/queries.ts";
import type { Tx } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";
import { listThreads, neighbours, type ThreadFilter } from "#projections/threads/queries.ts";
import type { Scaled } from "./scaled.ts";

/** Shows which index each list goes by, under the policies and with the values a request would have. */
export async function explainLists({ database, workspaceId, identityIds }: Scaled): Promise<void> {
  const identity_id = identityIds[0] as string;
  const window = { limit: 20, offset: 0 };
  const [from, to] = [new Date(Date.now() - 200 * 86_400_000), new Date(Date.now() - 190 * 86_400_000)];
  const filters: Omit<ThreadFilter, "limit" | "offset">[] = [
    ...[{}, { identity_id }, { status: "draft_pending" }, { needs_review: true }, { priority: "urgent" }],
    ...[{ sort: "priority" as const }, { from, to }, { q: "anten" }, { contact: "ann" }],
  ];
  for (const filter of filters) {
    const name = `threads ${JSON.stringify(filter)}`;
    await listThreads(explaining(database.reads, name), workspaceId, { ...filter, ...window });
  }
  for (const filter of [{}, { status: "pending" }, { identity_id }])
    await listDrafts(explaining(database.reads, `drafts ${JSON.stringify(filter)}`), workspaceId, {
      ...filter,
      ...window,
    });
  for (const filter of [{}, { q: "ann" }, { domain: "customer7.example" }])
    await listContacts(explaining(database.reads, `contacts ${JSON.stringify(filter)}`), workspaceId, {
      ...filter,
      ...window,
    });
  const { rows } = await database.reads.of(workspaceId).query<{ id: string }>("select id from threads limit 1");
  await newestMessages(explaining(database.reads, "messages of a thread"), workspaceId, {
    threadId: rows[0]!.id,
    otherwise: 10,
  });
  console.log("  inside work.threads_with:");
  await explain(
    database.owner,
    "select distinct thread_id from message_words where workspace_id = $1 and words @@ 'anten|anbe'::tsquery",
    [workspaceId],
  );
  await explain(database.owner, "select word from search_words where workspace_id = $1 and word like '%ante%'", [
    workspaceId,
  ]);
}

/** The same for what pages ask beside the routes. */
export async function explainPages({ database, workspaceId }: Scaled): Promise<void> {
  const { data } = await listThreads(database.reads, workspaceId, { limit: 40, offset: 0 });
  const threadId = data[0]?.id as string;
  const at = (name: string): Reads => explaining(database.reads, name);
  await conversationLines(
    at("the lines of 40 conversations"),
    workspaceId,
    data.map(({ id }) => id),
  );
  await lastOfThread(at("the last of a conversation"), workspaceId, threadId);
  await heldOfThread(at("what is held of it"), workspaceId, { threadId, count: 20 });
  await neighbours(at("its neighbours"), workspaceId, threadId);
  await listMessages(at("its newest messages"), workspaceId, { threadId, sort: "newest", limit: 20, offset: 0 });
}

/** Explains instead of asking. */
function explaining(reads: Reads, name: string): Reads {
  console.log(`  ${name}`);
  const of = (workspaceId: string): Tx => ({
    async query(text, values) {
      await explain(reads.of(workspaceId), text, values);
      return { rows: [], rowCount: 0 };
    },
  });
  return { ...reads, of, lookUp: of };
}

async function explain(sql: Tx, text: string, values?: readonly unknown[]): Promise<void> {
  const { rows } = await sql.query<{ "QUERY PLAN": string }>(
    `explain (analyze, costs off, timing off) ${text}`,
    values,
  );
  const lines = rows.map((row) => row["QUERY PLAN"]);
  const told = lines.filter((line) => /Scan|Execution Time/.test(line)).map((line) => line.replace(/^[\s>-]*/, ""));
  console.log(`    ${told.join(" · ")}`);
}
