import type { Sql } from "#src/platform/postgres/database.ts";

/** Milliseconds a lease lasts unless it is renewed, and between two renewals. */
export const leaseMs = 5_000;
export const renewEveryMs = 1_000;

/** The right of one instance to do the work of this name. Each takeover raises the epoch. */
export type Lease = { name: string; epoch: number };

/** Takes the named leases that have expired or are new. Time is the database's, the one clock all instances share. */
export async function takeLeases(
  sql: Sql,
  names: readonly string[],
  { holder, lastsMs }: { holder: string; lastsMs: number },
): Promise<Lease[]> {
  const { rows } = await sql.query<Lease>(
    `insert into work.leases as lease (name, holder, epoch, expires_at)
     select name, $2, 1, clock_timestamp() + $3 * interval '1 ms' from unnest($1::text[]) as wanted (name) order by name
     on conflict (name) do update
       set holder = excluded.holder, epoch = lease.epoch + 1, expires_at = excluded.expires_at
       where lease.expires_at < clock_timestamp()
     returning name, epoch`,
    [names, holder, lastsMs],
  );
  return rows;
}

/** Renews leases. Returns the names still held; the others were taken over. */
export async function renewLeases(
  sql: Sql,
  leases: readonly Lease[],
  { holder, lastsMs }: { holder: string; lastsMs: number },
): Promise<Set<string>> {
  const { rows } = await sql.query<{ name: string }>(
    `with mine as (
       select lease.name from work.leases lease
       join unnest($1::text[], $2::bigint[]) as held (name, epoch) on held.name = lease.name and held.epoch = lease.epoch
       where lease.holder = $3 order by lease.name for no key update of lease
     )
     update work.leases lease set expires_at = clock_timestamp() + $4 * interval '1 ms'
     from mine where lease.name = mine.name returning lease.name`,
    [...columns(leases), holder, lastsMs],
  );
  return new Set(rows.map((row) => row.name));
}

/** Releases leases, so that other instances need not wait for them to expire. */
export async function releaseLeases(sql: Sql, leases: readonly Lease[], holder: string): Promise<void> {
  await sql.query(
    `update work.leases lease set expires_at = '-infinity'
     from unnest($1::text[], $2::bigint[]) as held (name, epoch)
     where lease.name = held.name and lease.epoch = held.epoch and lease.holder = $3`,
    [...columns(leases), holder],
  );
}

/** Expires a lease, whoever holds it: for a caller that knows that the holder has died. */
export async function expireLease(sql: Sql, name: string): Promise<void> {
  await sql.query("update work.leases set expires_at = '-infinity' where name = $1", [name]);
}

/** Returns how many leases of the same kind (the part of the name before its colon) are held under other names. */
export async function otherHolders(sql: Sql, name: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(
    `select count(*) from work.leases
     where split_part(name, ':', 1) = split_part($1, ':', 1) and name <> $1 and expires_at > clock_timestamp()`,
    [name],
  );
  return rows[0]!.count;
}

const columns = (leases: readonly Lease[]): unknown[][] => [
  leases.map((lease) => lease.name),
  leases.map((lease) => lease.epoch),
];
