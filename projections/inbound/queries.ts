import { conditions, page, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";

/** A delivery in the inbound ledger, in the contract's names. */
export type InboundRow = {
  id: string;
  /** Null for mail to an address that nobody has. */
  identity_id: string | null;
  received_at: Date;
  position: number;
  filed_position: number | null;
  envelope: { from: string; to: string };
  disposition: string;
  message_id: string | null;
  reason: string | null;
  size_bytes: number;
};

/** Its message has an id already, and nothing to show. */
const held = "disposition in ('held_over_quota', 'held_identity_disabled')";
const waits = `${held} and expired_after_days is null`;

const columns = `id, identity_id, received_at, position, filed_position,
  json_build_object('from', envelope_from, 'to', envelope_to) as envelope, disposition,
  case when ${held} then null else message_id end as message_id, reason, size_bytes`;

export type InboundFilter = Window & { identity_id?: string; disposition?: string };

/** Newest first. */
export function listInbound(reads: Reads, workspaceId: string, filter: InboundFilter) {
  const { where, values } = conditions(workspaceId, [
    ["identity_id = {n}", filter.identity_id],
    ["disposition = {n}", filter.disposition],
  ]);
  return page<InboundRow>(reads.of(workspaceId), {
    select: columns,
    from: "inbound",
    where,
    values,
    order: { columns: ["position"], direction: "desc" },
    window: filter,
  });
}

/** With where its bytes are. `inbox_revision`: of its event in the inbox of its identity, or in a stream of its own for a reply to an approval mail. */
export type ReceivedRow = InboundRow & {
  inbox_revision: number;
  raw_sha256: string;
  expired_after_days: number | null;
};

export const inboundById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<ReceivedRow>(reads, workspaceId, {
    id,
    select: `${columns}, inbox_revision, raw_sha256, expired_after_days`,
    from: "inbound",
  });

/** After how many days the content of a message was removed; undefined if it was not. */
export async function messageExpiredAfter(
  reads: Reads,
  workspaceId: string,
  messageId: string,
): Promise<number | undefined> {
  const { rows } = await reads.of(workspaceId).query<{ days: number }>(
    `select expired_after_days as days from inbound
     where workspace_id = $1 and message_id = $2 and expired_after_days is not null limit 1`,
    [workspaceId, messageId],
  );
  return rows[0]?.days;
}

/** A quarantined delivery whose content is there: its message, and where its filing stream says that it is quarantined. */
export type QuarantinedRow = { id: string; message_id: string; filing_number: number; filing_revision: number };

/** The quarantined mail of an identity above a filing number, in the order of these, so many at most. */
export async function quarantinedMail(
  reads: Reads,
  workspaceId: string,
  { identityId, above, count }: { identityId: string; above: number; count: number },
): Promise<QuarantinedRow[]> {
  const { rows } = await reads.of(workspaceId).query<QuarantinedRow>(
    `select id, message_id, filing_number, filing_revision from inbound
     where workspace_id = $1 and identity_id = $2 and disposition = 'quarantined' and expired_after_days is null
       and filing_number > $3
     order by filing_number limit $4`,
    [workspaceId, identityId, above, count],
  );
  return rows;
}

/** The deliveries that brought a message once more, oldest first, so many at most. */
export async function repeatedDeliveries(
  reads: Reads,
  workspaceId: string,
  { messageId, count }: { messageId: string; count: number },
): Promise<string[]> {
  const { rows } = await reads.of(workspaceId).query<{ id: string }>(
    `select id from inbound where workspace_id = $1 and message_id = $2 and disposition = 'duplicate'
     order by position limit $3`,
    [workspaceId, messageId, count],
  );
  return rows.map(({ id }) => id);
}

/** The identities of a workspace that mail is held for. One step in the index finds each, however much is held. */
export async function heldIdentities(reads: Reads, workspaceId: string): Promise<string[]> {
  const { rows } = await reads.of(workspaceId).query<{ identity_id: string }>(
    `with recursive found (identity_id) as (
       (select identity_id from inbound where workspace_id = $1 and ${waits} order by identity_id limit 1)
       union all
       select (
         select identity_id from inbound
         where workspace_id = $1 and ${waits} and identity_id > found.identity_id order by identity_id limit 1
       ) from found where found.identity_id is not null
     )
     select identity_id from found where identity_id is not null`,
    [workspaceId],
  );
  return rows.map((row) => row.identity_id);
}

/** How many bytes of unanswered mail a workspace holds. */
export type UnansweredRow = { workspace_id: string; bytes: number };

/** Each workspace that holds unanswered mail whose content is there, with how much. */
export async function unansweredMail(reads: Reads): Promise<UnansweredRow[]> {
  const { rows } = await reads.ofNone.query<UnansweredRow>("select workspace_id, bytes from work.unanswered_mail()");
  return rows;
}
