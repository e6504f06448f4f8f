import pg from "pg";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { asUnavailable } from "#src/postgres/unavailable.ts";
import type { Place } from "./place.ts";
import type { Postmaster } from "./postmaster.ts";

export const adminRole = "postgres";
export const ownerRole = "countersign_owner";
export const serviceRole = "countersign_service";
const database = "countersign";
/** Any number will do, as long as it stays the same. */
const lockKey = 5_060;

/**
 * A connection that lives as long as its holder: its lock makes one process the server's keeper, the server frees the lock the moment that
 * process dies, and its end tells the keeper that the server is gone.
 */
export type Guard = pg.Client;

/**
 * The administrator's leads to the administrator's own database, every other role's to the service's. `host` is the server's Unix socket, as
 * PostgreSQL's own programs take it too; without it the same URL leads there over TCP.
 */
export function urlOf(place: Place, { port, socketIn }: Pick<Postmaster, "port" | "socketIn">, role: string): string {
  const url = new URL(`postgres://${role}:${place.passwordOf(role)}@127.0.0.1:${port}`);
  url.pathname = role === adminRole ? adminRole : database;
  if (socketIn !== "") url.searchParams.set("host", socketIn);
  return url.href;
}

/** "away": the server is not up, or on its way down. "held": by the named process, if it is known. */
export async function takeGuard(place: Place, server: Postmaster): Promise<Guard | "away" | { heldBy: string }> {
  const guard = new pg.Client({
    connectionString: urlOf(place, server, adminRole),
    application_name: `countersign ${process.pid}`,
    connectionTimeoutMillis: 5_000,
  });
  guard.on("error", () => {});
  try {
    await guard.connect();
    const { rows } = await guard.query("select pg_try_advisory_lock($1) as taken", [lockKey]);
    if (rows[0].taken) return guard;
    const holder = await guard.query(
      "select a.application_name as name from pg_locks l join pg_stat_activity a using (pid) where l.locktype = 'advisory' and l.objid = $1 and l.granted",
      [lockKey],
    );
    await guard.end();
    return { heldBy: holder.rows[0]?.name.replace("countersign", "process") ?? "another process" };
  } catch (error) {
    await guard.end().catch(() => {});
    if (asUnavailable(error) instanceof Unavailable) return "away";
    throw error;
  }
}

/** The service's database, its owner, and the role that has no rights but what the owner grants it. */
export async function createRoles(guard: Guard, place: Place): Promise<void> {
  const { rows } = await guard.query("select rolname as name from pg_roles union all select datname from pg_database");
  const there = new Set(rows.map((row) => row.name));
  for (const role of [ownerRole, serviceRole]) {
    if (!there.has(role)) await guard.query(`create role ${role} login password '${place.passwordOf(role)}'`);
  }
  if (!there.has(database)) await guard.query(`create database ${database} owner ${ownerRole}`);
  await guard.query(`revoke all on database ${database} from public`);
  await guard.query(`grant connect on database ${database} to ${serviceRole}`);
}
