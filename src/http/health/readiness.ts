import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import type { ReadinessCheck } from "./health.ts";

/** A part's name, and what tells why it is not ready: undefined if it is. */
export type Parts = { readonly [name: string]: () => string | undefined | Promise<string | undefined> };

/** What /readyz asks. The checks have the names of the parts, even if one fails or does not answer. */
export function readiness(
  { database, store }: { database: Pick<Database, "query">; store: Pick<EventStore, "head"> },
  parts: Parts,
): ReadinessCheck[] {
  const all: Parts = {
    database: () => database.query("select 1").then(() => undefined),
    event_store: () => store.head().then(() => undefined),
    ...parts,
  };
  return Object.entries(all).map(([name, troubleOf]) => {
    const check = async () => {
      const detail = await troubleOf();
      return detail === undefined ? { name, ok: true } : { name, ok: false, detail };
    };
    return Object.defineProperty(check, "name", { value: name });
  });
}
