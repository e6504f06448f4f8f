import type { PutAside } from "#streams/inbox/mailKinds.ts";
import { type Order, type Page, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import type { FiledBy } from "./putAsideRows.ts";

export type { FiledBy } from "./putAsideRows.ts";

/** A mail that is nobody's word, as Review lists it. */
export type PutAsideRow = {
  id: string;
  received_at: Date;
  position: number;
  put_aside: PutAside;
  reaction: { emoji: string; from: string } | null;
  /** Null until a person files it as a message. */
  filed_by: FiledBy | null;
  envelope_from: string;
  disposition: string;
  expired_after_days: number | null;
  /** The message that it is, or for a copy of ours and a reaction the mail of ours that it is about. */
  message_id: string;
  thread_id: string;
  classification: string | null;
  from_name: string | null;
  from_email: string | null;
  subject: string | null;
  /** The identity that received it. */
  identity_name: string | null;
  identity_address: string | null;
  /** The other identity of the workspace that sent it, proved by its Message-ID. */
  colleague: string | null;
};

/** One row for each mail put aside. The joins add no rows, so that the list's index leads to its pages. */
const listed = `(select inbound.id, inbound.workspace_id, inbound.received_at, inbound.position, put_aside, reaction, filed_by,
    envelope_from, disposition, expired_after_days, inbound.message_id,
    coalesce(m.thread_id, inbound.thread_id) as thread_id, m.classification, m.from_name, m.from_email,
    coalesce(nullif(m.subject, ''), t.subject) as subject, coalesce(t.needs_review, false) as needs_review,
    own.display_name as identity_name, own.email_address as identity_address, other.email_address as colleague
  from inbound
    left join messages m on m.id = inbound.message_id
    left join threads t on t.id = m.thread_id
    left join identities own on own.id = inbound.identity_id
    left join identities other on other.id = m.sent_by
  where put_aside is not null) listed`;

const newestFirst: Order = { columns: ["received_at", "position"], direction: "desc" };

/** Mail put aside is counted up to this number. */
const countedTo = 1_000;

/** Lists mail put aside that arrived from a time on, newest first. */
export const listPutAside = (
  reads: Reads,
  workspaceId: string,
  { since, ...window }: Window & { since: Date },
): Promise<Page<PutAsideRow>> =>
  readPage<PutAsideRow>(reads.of(workspaceId), {
    select: "*",
    from: listed,
    where: ["workspace_id = $1", "received_at >= $2"],
    values: [workspaceId, since],
    order: newestFirst,
    window,
    countedTo,
  });

export async function putAsideById(reads: Reads, workspaceId: string, id: string): Promise<PutAsideRow | undefined> {
  const { rows } = await reads
    .of(workspaceId)
    .query<PutAsideRow>(`select * from ${listed} where workspace_id = $1 and id = $2`, [workspaceId, id]);
  return rows[0];
}

/** The newest hand-overs are looked through, at most. */
const mostHandOvers = 200;

/** Returns colleagues' mail that was handed over and whose thread still asks for a review, newest first, up to a limit. */
export async function handOvers(
  reads: Reads,
  workspaceId: string,
  { count }: { count: number },
): Promise<PutAsideRow[]> {
  const { rows } = await reads.of(workspaceId).query<PutAsideRow>(
    `select * from (
       select * from ${listed} where workspace_id = $1 and put_aside = 'hand_over'
       order by received_at desc, position desc limit ${mostHandOvers}
     ) newest where needs_review and filed_by is null order by received_at desc, position desc limit $2`,
    [workspaceId, count],
  );
  return rows;
}
