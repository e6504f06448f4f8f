import { createHash } from "node:crypto";
import type { Database, Sql } from "#src/platform/postgres/database.ts";
import type { CountedMail, NotificationQuota, NotificationQuotaLimits, QuotaPlace } from "./notificationQuota.ts";

/** Keeps a row for each mail of the last hour in PostgreSQL, by its clock. Requests for the same mailbox or workspace are serialised. */
export function postgresNotificationQuota(
  database: Pick<Database, "query" | "transaction">,
  limits: NotificationQuotaLimits,
): NotificationQuota {
  return {
    take: (mail) => database.transaction((tx) => take(tx, mail, limits)),
    async giveBack(attemptId) {
      await database.query("delete from work.service_mail where attempt_id = $1", [attemptId]);
    },
  };
}

async function take(tx: Sql, mail: CountedMail, limits: NotificationQuotaLimits): Promise<QuotaPlace> {
  const { attemptId, measure, workspaceId } = mail;
  const mailboxSha256 = createHash("sha256").update(mail.mailbox).digest("hex");
  // A separate statement: the next one has to see the counts of the transactions that were in line before.
  await tx.query(waitInLine, [[`mailbox ${measure} ${mailboxSha256}`, `workspace ${measure} ${workspaceId}`]]);
  const counted = await tx.query(alreadyCounted, [attemptId]);
  if (counted.rows.length > 0) return { taken: true, isNew: false };
  for (const [fullFor, value] of [
    ["mailbox", mailboxSha256],
    ["workspace", workspaceId],
  ] as const) {
    const { rows } = await tx.query<{ in_ms: number }>(fullIn[fullFor], [measure, value, limits[measure][fullFor] - 1]);
    if (rows[0]) return { taken: false, fullFor, inMs: Math.max(1, Math.ceil(rows[0].in_ms)) };
  }
  await tx.query(count, [attemptId, measure, mailboxSha256, workspaceId]);
  await tx.query(removeOld);
  return { taken: true, isNew: true };
}

/** Takes locks always in the same order, so there is no deadlock. They end with the transaction. */
const waitInLine = `
  select pg_advisory_xact_lock(line) from (
    select distinct hashtextextended(name, 7302) as line from unnest($1::text[]) as name order by line
  ) as lines`;

const anHourAgo = "clock_timestamp() - interval '1 hour'";

const alreadyCounted = `select 1 from work.service_mail where attempt_id = $1 and at > ${anHourAgo}`;

/** Returns the mail that fills the last place, if there is one, and when it is an hour old. */
const fullIn = Object.fromEntries(
  (["mailbox", "workspace"] as const).map((of) => [
    of,
    `select (extract(epoch from at - (${anHourAgo})) * 1000)::float8 as in_ms from work.service_mail
     where measure = $1 and ${of === "mailbox" ? "mailbox_sha256" : "workspace_id"} = $2 and at > ${anHourAgo}
     order by at desc offset $3 limit 1`,
  ]),
) as Record<"mailbox" | "workspace", string>;

/** Uses the clock, not the time of the transaction's beginning, which may be long before its turn. */
const count = `
  insert into work.service_mail (attempt_id, measure, mailbox_sha256, workspace_id, at)
  values ($1, $2, $3, $4, clock_timestamp())
  on conflict (attempt_id) do update set at = excluded.at`;

/** Removes expired rows, in each call a few more than one call adds. */
const removeOld = `
  delete from work.service_mail where attempt_id in (
    select attempt_id from work.service_mail where at <= ${anHourAgo} order by at for update skip locked limit 20
  )`;
