import { conditions, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";
import { countsOfIdentity } from "./counts.ts";

export {
  type FiledBy,
  handOvers,
  listPutAside,
  type PutAsideRow,
  putAsideById,
} from "./putAside.ts";

/** A delivery in the inbound ledger, in the contract's names. */
export type InboundRow = {
  id: string;
  /** Null for mail to an address of no identity. */
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

/** Held mail: its message already has an id, but no content to show. */
const held = "disposition in ('held_over_quota', 'held_identity_disabled')";
const waits = `${held} and expired_after_days is null`;

const columns = `id, identity_id, received_at, position, filed_position,
  json_build_object('from', envelope_from, 'to', envelope_to) as envelope, disposition,
  case when ${held} then null else message_id end as message_id, reason, size_bytes`;

export type InboundFilter = Window & { identity_id?: string; disposition?: string };

/** Lists deliveries, newest first. */
export function listInbound(reads: Reads, workspaceId: string, filter: InboundFilter) {
  const withIdentity = (identity: string) =>
    conditions(workspaceId, [
      [identity, filter.identity_id],
      // Names the condition of an index: most mail is threaded, and any other disposition would be sought in the whole ledger.
      [
        filter.disposition === "threaded" ? "disposition = {n}" : "disposition <> 'threaded' and disposition = {n}",
        filter.disposition,
      ],
    ]);
  return readPage<InboundRow>(reads.of(workspaceId), {
    select: columns,
    from: "inbound",
    ...withIdentity("identity_id = {n}"),
    counts: { table: "inbound_counts", ...withIdentity(countsOfIdentity) },
    order: { columns: ["position"], direction: "desc" },
    window: filter,
  });
}

/**
 * A delivery with the location of its bytes. `inbox_revision`: revision of its event in its identity's inbox, or in a separate stream for a
 * reply to an approval mail.
 */
export type ReceivedRow = InboundRow & {
  inbox_revision: number;
  raw_sha256: string;
  expired_after_days: number | null;
  /** Thread that filing found for it; null before its filing. */
  thread_id: string | null;
};

export const inboundById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<ReceivedRow>(reads, workspaceId, {
    id,
    select: `${columns}, inbox_revision, raw_sha256, expired_after_days, thread_id`,
    from: "inbound",
  });

/** Returns the days after which the content of a message was removed; undefined if it was not. */
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

/** A quarantined delivery whose content still exists: its message, and the revision of its quarantine in the filing stream. */
export type QuarantinedRow = { id: string; message_id: string; filing_number: number; filing_revision: number };

/** Returns an identity's quarantined mail above a filing number, in the order of the numbers, up to a limit. */
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

/** Returns the repeated deliveries of a message, oldest first, up to a limit. */
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

/** Returns the identities of a workspace with held mail. One step in the index finds each, however much is held. */
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

/** Bytes of unanswered mail of a workspace. */
export type UnansweredRow = { workspace_id: string; bytes: number };

/** Returns every workspace with unanswered mail whose content still exists, and its bytes. */
export async function unansweredMail(reads: Reads): Promise<UnansweredRow[]> {
  const { rows } = await reads.ofNone.query<UnansweredRow>("select workspace_id, bytes from work.unanswered_mail()");
  return rows;
}
