import type { AddressInfo } from "node:net";
import express from "express";
import pg from "pg";

/** Lists threads and reads a draft without key, limit, policy, validation or log: what the same would cost bare. */
const [ownerUrl, workspaceId] = process.argv.slice(2);
const pool = new pg.Pool({
  connectionString: ownerUrl!,
  options: "-c search_path=read -c countersign.workspace=*",
  max: 10,
});
const app = express();

app.get("/v1/threads", async (request, response) => {
  const limit = Number(request.query.limit ?? 20);
  const { rows } = await pool.query(
    `select id, workspace_id, identity_id, primary_contact_id, subject, status, priority, needs_review, last_message_at,
       message_count, participants, merged_into, created_at, updated_at
     from threads where workspace_id = $1 and in_lists order by sorted_at desc, id desc limit $2 offset 0`,
    [workspaceId, limit],
  );
  const counted = await pool.query("select sum(count)::int as total from thread_counts where workspace_id = $1", [
    workspaceId,
  ]);
  response.json({ data: rows, total: counted.rows[0].total, limit, offset: 0 });
});

app.get("/v1/drafts/:id", async (request, response) => {
  const { rows } = await pool.query(
    `select drafts.*, (select m.id from messages m where m.thread_id = drafts.thread_id
       and m.filing_number > drafts.based_on_number and m.classification in ('person', 'list')
       order by m.filing_number desc limit 1) as newer_message_id
     from drafts where workspace_id = $1 and id = $2`,
    [workspaceId, request.params.id],
  );
  response.json(rows[0]);
});

const server = app.listen(0, "127.0.0.1", () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
