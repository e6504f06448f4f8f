import pg from "pg";
import type { ServerDirectories } from "./directories.ts";
import type { Postmaster } from "./postmaster.ts";

export const adminRole = "postgres";
export const ownerRole = "countersign_owner";
export const serviceRole = "countersign_service";
const database = "countersign";

/**
 * Returns a role's URL: the administrator's leads to the administrator's own database, every other role's to the service's. `host` is the
 * server's Unix socket, as in PostgreSQL's own programs; without it the same URL uses TCP.
 */
export function urlOf(
  place: ServerDirectories,
  { port, socketIn }: Pick<Postmaster, "port" | "socketIn">,
  role: string,
): string {
  const url = new URL(`postgres://${role}:${place.passwordOf(role)}@127.0.0.1:${port}`);
  url.pathname = role === adminRole ? adminRole : database;
  if (socketIn !== "") url.searchParams.set("host", socketIn);
  return url.href;
}

/** Creates the service's database, its owner, and the role that has only the rights granted by the owner, unless they exist. */
export async function createRoles(place: ServerDirectories, server: Postmaster): Promise<void> {
  const admin = new pg.Client(urlOf(place, server, adminRole));
  await admin.connect();
  try {
    const { rows } = await admin.query(
      "select rolname as name from pg_roles union all select datname from pg_database",
    );
    const there = new Set(rows.map((row) => row.name));
    for (const role of [ownerRole, serviceRole]) {
      if (!there.has(role)) await admin.query(`create role ${role} login password '${place.passwordOf(role)}'`);
    }
    if (!there.has(database)) await admin.query(`create database ${database} owner ${ownerRole}`);
    await admin.query(`revoke all on database ${database} from public`);
    await admin.query(`grant connect on database ${database} to ${serviceRole}`);
  } finally {
    await admin.end();
  }
}
