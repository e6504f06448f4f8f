import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { ReadinessCheck } from "./health.ts";

/** Why a part is not ready; undefined if it is. One that does its work but for a piece of it is ready, and says which. */
export type Trouble = string | { ready: string } | undefined;

/** A part's name, and what tells its trouble. */
export type Parts = { readonly [name: string]: () => Trouble | Promise<Trouble> };

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
      const trouble = await troubleOf();
      if (trouble === undefined) return { name, ok: true };
      return typeof trouble === "string"
        ? { name, ok: false, detail: trouble }
        : { name, ok: true, detail: trouble.ready };
    };
    return Object.defineProperty(check, "name", { value: name });
  });
}
