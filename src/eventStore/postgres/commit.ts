import type pg from "pg";
import { type Appended, StreamMoved } from "../eventStore.ts";
import type { AppendRequest } from "./batch.ts";

/** Result of a request that the database judged. */
export type AppendOutcome = Appended | StreamMoved;

/** A row of es.append. `moved`: the first guard (from 1) whose revision differs; `movedTo`: that revision. */
type AppendRow = [position: string | null, actual: string, moved: number | null, movedTo: string | null];

const append = "select * from es.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";

/** Commits a batch in one round trip: an outcome per request, in order. Durable when it resolves. */
export async function commit(client: pg.Client, batch: readonly AppendRequest[]): Promise<AppendOutcome[]> {
  const { rows } = await client.query<AppendRow>({
    name: "append",
    text: append,
    values: parameters(batch),
    rowMode: "array",
  });
  return batch.map((request, index) => outcome(request, rows[index]!));
}

function outcome(
  { stream, expectedRevision, events, guards }: AppendRequest,
  [position, actual, moved, movedTo]: AppendRow,
): AppendOutcome {
  if (position !== null) return { revision: expectedRevision + events.length, position: Number(position) };
  const guard = moved === null ? undefined : guards[moved - 1];
  if (guard) return new StreamMoved(guard.stream, guard.revision, Number(movedTo));
  return new StreamMoved(stream, expectedRevision, Number(actual));
}

/** Builds flat arrays: the database unnests them, which is cheaper than parsing JSON. */
function parameters(batch: readonly AppendRequest[]): unknown[] {
  const guarded = batch.flatMap(({ guards }, request) => guards.map((guard) => ({ ...guard, request: request + 1 })));
  const ends: number[] = [];
  const requests: number[] = [];
  const places: number[] = [];
  const ids: string[] = [];
  const types: string[] = [];
  const versions: number[] = [];
  const data: string[] = [];
  const metadata: string[] = [];
  for (const [request, { events }] of batch.entries()) {
    for (const [place, event] of events.entries()) {
      requests.push(request + 1);
      places.push(place + 1);
      ids.push(event.id);
      types.push(event.type);
      versions.push(event.schemaVersion);
      data.push(event.data);
      metadata.push(event.metadata);
    }
    ends.push(ids.length);
  }
  return [
    batch.map(({ stream }) => stream),
    batch.map(({ expectedRevision }) => expectedRevision),
    batch.map(({ events }) => events.length),
    ends,
    guarded.map(({ request }) => request),
    guarded.map(({ stream }) => stream),
    guarded.map(({ revision }) => revision),
    requests,
    places,
    ids,
    types,
    versions,
    data,
    metadata,
  ];
}
