import type { Projection, ProjectorTx } from "#projections/projection.ts";
import type { Sql } from "#src/postgres/database.ts";
import type { Recorded } from "#streams/event.ts";

/** What a projector is given, on this connection, and what waits until all of it is written. */
export function projectorOn(sql: Pick<Sql, "query">): { tx: ProjectorTx; written(): Promise<void> } {
  let last: Promise<unknown> = Promise.resolve();
  const query: Sql["query"] = (text, values) => {
    const answer = last.then(() => sql.query(text, values));
    last = answer;
    return answer as never;
  };
  const tx: ProjectorTx = { query, write: (text, values) => void query(text, values).catch(() => {}) };
  return { tx, written: async () => void (await last) };
}

/** Projects these events, and waits until they are. */
export async function project(
  { project }: Pick<Projection, "project">,
  sql: Pick<Sql, "query">,
  events: readonly Recorded[],
): Promise<void> {
  const { tx, written } = projectorOn(sql);
  await project(tx, events);
  await written();
}
