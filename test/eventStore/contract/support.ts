import { randomBytes, randomUUID } from "node:crypto";
import { expect } from "chai";
import {
  type Appended,
  type Batch,
  type EventStore,
  type NewEvent,
  noStream,
  type SubscribeOptions,
  Unavailable,
} from "#src/eventStore/eventStore.ts";
import type { Metadata, Recorded } from "#streams/event.ts";

export const metadata: Metadata = {
  workspaceId: "0197a000-0000-7000-8000-000000000001",
  actor: { kind: "system", id: "contract" },
  correlationId: "correlation",
  causationId: "causation",
  at: "2026-01-02T03:04:05.678Z",
};

/** Returns a category that no other test uses. */
export const newCategory = (): string => `note${randomBytes(6).toString("hex")}`;
export const newStream = (category = "note"): string => `${category}-${randomUUID()}`;
export const newEvent = (data: Record<string, unknown> = { text: "hello" }, type = "NoteWritten"): NewEvent => ({
  id: randomUUID(),
  type,
  data,
  metadata,
});
export const newEvents = (count: number): NewEvent[] =>
  Array.from({ length: count }, (_, number) => newEvent({ number }));

export const idsOf = (events: readonly { id: string }[]): string[] => events.map((event) => event.id);
export const revisionsOf = (events: readonly Recorded[]): number[] => events.map((event) => event.revision);
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Returns the error with which a promise rejects; fails if it resolves. */
export async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return expect.fail("it succeeded, but should have failed");
}

export function expectRising(positions: readonly number[]): void {
  positions.forEach((position, index) => {
    if (index > 0) expect(position, `position after ${positions[index - 1]}`).to.be.greaterThan(positions[index - 1]!);
  });
}

/** Appends one event to each of these streams, one after the other. */
export async function appendOneByOne(store: EventStore, streams: readonly string[]): Promise<Recorded[]> {
  for (const stream of streams) {
    const last = await store.readLast(stream);
    await store.append(stream, last?.revision ?? noStream, [newEvent()]);
  }
  const all = await Promise.all([...new Set(streams)].map((stream) => store.read(stream)));
  return all.flat().sort((one, other) => one.position - other.position);
}

/** Appends until the outcome is known: an append with an unknown outcome is retried with the same ids at the same revision. */
export async function appendForSure(
  store: EventStore,
  { stream, revision, events }: { stream: string; revision: number; events: readonly NewEvent[] },
): Promise<Appended> {
  for (;;) {
    try {
      return await store.append(stream, revision, events);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
  }
}

/** Consumes a subscription until `enough` returns true for a batch. Checks the order of every batch. */
export async function consume(
  store: EventStore,
  options: Omit<SubscribeOptions, "signal">,
  enough: (events: readonly Recorded[], batch: Batch) => boolean,
): Promise<{ events: Recorded[]; batches: Batch[] }> {
  const events: Recorded[] = [];
  const batches: Batch[] = [];
  let position = options.after;
  for await (const batch of store.subscribe({ ...options, signal: new AbortController().signal })) {
    expectRising([position, ...batch.events.map((event) => event.position)]);
    expect(batch.position, "a batch ends where its last event is, or later").to.be.at.least(
      batch.events.at(-1)?.position ?? position,
    );
    position = batch.position;
    batches.push(batch);
    events.push(...batch.events);
    if (enough(events, batch)) break;
  }
  return { events, batches };
}

export const count =
  (wanted: number) =>
  (events: readonly Recorded[]): boolean =>
    events.length >= wanted;
