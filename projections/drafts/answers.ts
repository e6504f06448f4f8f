import type { Reads } from "../reads.ts";
import type { DraftRow } from "./row.ts";

/** A mail of ours that was queued after the message a draft answers. `by`: who authorised it. */
export type AnsweredMeanwhile = {
  message_id: string;
  at: string;
  by: { kind: string; id: string; name?: string };
  /** Address it was sent from: the draft's own identity, or another one that received the same mail. */
  from_email: string;
};

const answerJson = `json_build_object('message_id', m.id, 'at', m.created_at, 'from_email', m.from_email,
  'by', json_strip_nulls(json_build_object(
    'kind', other.decided_by ->> 'kind', 'id', other.decided_by ->> 'id', 'name', other.decided_by ->> 'name')))`;

const stands = (until: string): string => `m.delivery_status is distinct from 'failed' and m.created_at <= ${until}`;

/** SQL for the newest mail of ours on the draft's thread after the message it answers, without its own. */
const answerOnThread = (until: string): string => `(select ${answerJson}
  from messages m join drafts other on other.id = m.draft_id
  where m.thread_id = drafts.thread_id and m.direction = 'outbound' and m.draft_id <> drafts.id and ${stands(until)}
    and m.created_at > (select based.created_at from messages based where based.id = drafts.based_on_message_id)
  order by m.created_at desc, m.id desc limit 1)`;

/** SQL for the tables and conditions of answers that other identities of the workspace gave to the same Message-ID. */
const elsewhere = `from messages based
  join chain_messages copy on copy.rfc_message_id = based.rfc_message_id
  join identities i on i.id = copy.identity_id and i.workspace_id = drafts.workspace_id and i.id <> drafts.identity_id
  join messages same on same.id = copy.message_id
  join drafts other on other.thread_id = same.thread_id and other.based_on_message_id = same.id
  join messages m on m.draft_id = other.id
  where based.id = drafts.based_on_message_id`;

const answerElsewhere = (until: string): string =>
  `(select ${answerJson} ${elsewhere} and ${stands(until)} order by m.created_at desc, m.id desc limit 1)`;

/**
 * SQL for the newest mail of ours that answers a draft's message, up to a time: one on its thread, else one that another identity of the
 * workspace sent in answer to the same mail. Failed mail and the draft's own do not count.
 */
export const answerSql = (until: string): string => `coalesce(${answerOnThread(until)}, ${answerElsewhere(until)})`;

type Asked = { draftIds: readonly string[]; by: Date | undefined };

const answersBy =
  (sql: (until: string) => string) =>
  async (reads: Reads, workspaceId: string, { draftIds, by }: Asked): Promise<Map<string, AnsweredMeanwhile>> => {
    const { rows } = await reads.of(workspaceId).query<{ id: string; answered: AnsweredMeanwhile | null }>(
      `select id, ${sql("coalesce($3::timestamptz, 'infinity')")} as answered from drafts
       where workspace_id = $1 and id = any($2::uuid[])`,
      [workspaceId, draftIds, by ?? null],
    );
    return new Map(rows.flatMap(({ id, answered }) => (answered === null ? [] : [[id, answered] as const])));
  };

/** Returns the newest mail that answered each draft's message, up to a time; drafts whose message nobody answered are left out. */
export const answersMeanwhile = answersBy(answerSql);

/** Returns the newest mail by which another identity answered each draft's message, up to a time. */
export const answersElsewhere = answersBy(answerElsewhere);

/** Returns the drafts by which other identities of the workspace answered the mail that a draft answers. */
export async function answeredElsewhereBy(reads: Reads, workspaceId: string, draftId: string): Promise<string[]> {
  const { rows } = await reads.of(workspaceId).query<{ id: string }>(
    `select answer.id from drafts, lateral (select other.id ${elsewhere} and ${stands("'infinity'")}) answer
     where drafts.workspace_id = $1 and drafts.id = $2`,
    [workspaceId, draftId],
  );
  return rows.map(({ id }) => id);
}

/** Pending drafts on one message listed, at most. */
const mostPending = 5;

/** Returns the other drafts on the same message that wait for a decision, oldest first. */
export async function otherPendingDrafts(
  reads: Reads,
  workspaceId: string,
  { id, thread_id, based_on_message_id }: Pick<DraftRow, "id" | "thread_id" | "based_on_message_id">,
): Promise<Pick<DraftRow, "id" | "content" | "content_blob" | "created_at">[]> {
  if (based_on_message_id === null) return [];
  const { rows } = await reads.of(workspaceId).query<Pick<DraftRow, "id" | "content" | "content_blob" | "created_at">>(
    `select id, content, content_blob, created_at from drafts
       where workspace_id = $1 and thread_id = $2 and based_on_message_id = $3 and status = 'pending' and id <> $4
       order by created_at, id limit ${mostPending}`,
    [workspaceId, thread_id, based_on_message_id, id],
  );
  return rows;
}
