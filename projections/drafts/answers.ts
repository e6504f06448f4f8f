import type { Reads } from "../reads.ts";
import type { DraftRow } from "./row.ts";

/** A mail of ours that was queued after the message a draft answers. `by`: who authorised it. */
export type AnsweredMeanwhile = {
  message_id: string;
  at: string;
  by: { kind: string; id: string; name?: string };
};

/** SQL for the newest mail of ours after the message a draft answers, up to a time; without failed ones and the draft's own. */
export const answerSql = (until: string) => `(select json_build_object('message_id', m.id, 'at', m.created_at,
    'by', json_strip_nulls(json_build_object(
      'kind', other.decided_by ->> 'kind', 'id', other.decided_by ->> 'id', 'name', other.decided_by ->> 'name')))
  from messages m join drafts other on other.id = m.draft_id
  where m.thread_id = drafts.thread_id and m.direction = 'outbound' and m.draft_id <> drafts.id
    and m.delivery_status is distinct from 'failed' and m.created_at <= ${until}
    and m.created_at > (select based.created_at from messages based where based.id = drafts.based_on_message_id)
  order by m.created_at desc, m.id desc limit 1)`;

/** Returns the newest mail that answered the draft's message, up to a time; up to now if none is given. */
export async function answeredMeanwhile(
  reads: Reads,
  workspaceId: string,
  { draftId, by }: { draftId: string; by: Date | undefined },
): Promise<AnsweredMeanwhile | null> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ answered_meanwhile: AnsweredMeanwhile | null }>(
      `select ${answerSql("coalesce($3::timestamptz, 'infinity')")} as answered_meanwhile from drafts where workspace_id = $1 and id = $2`,
      [workspaceId, draftId, by ?? null],
    );
  return rows[0]?.answered_meanwhile ?? null;
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
