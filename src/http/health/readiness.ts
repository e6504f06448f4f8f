import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { ReadinessCheck } from "./health.ts";

/** Why a part is not ready; undefined if it is. `ready`: it works, but with the described restriction. */
export type Trouble = string | { ready: string } | undefined;

/** Parts by name; each returns its trouble. */
export type Parts = { readonly [name: string]: () => Trouble | Promise<Trouble> };

/** Makes the checks of /readyz. The names of all checks are listed even if a check fails or does not answer. */
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
