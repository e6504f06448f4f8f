import { type EventData, jsonEvent, type Position, type ResolvedEvent } from "@eventstore/db-client";
import type { Metadata, Recorded } from "#streams/event.ts";
import type { NewEvent } from "../eventStore.ts";

/** Stored for ever: the event's data as it is; its metadata with the schema version beside them. */
export function toEventData({ id, type, data, schemaVersion = 1, metadata }: NewEvent): EventData {
  return jsonEvent({
    id: id.toLowerCase(),
    type,
    data: data as never,
    metadata: { ...metadata, schemaVersion } as never,
  });
}

/** A record of the log as the adapter needs it. `event` is absent if this service did not write it. */
export type LogRecord = { stream: string; position: number; event?: Recorded };

/** Undefined for a record that has no position of its own (a part of an explicit transaction, which this service never writes). */
export function toLogRecord(resolved: ResolvedEvent): LogRecord | undefined {
  const record = resolved.link ?? resolved.event;
  const position = ownPosition(record?.position);
  if (!record || position === undefined) return undefined;
  const { streamId: stream } = record;
  const stored = record.metadata as (Metadata & { schemaVersion?: unknown }) | undefined;
  const schemaVersion = stored?.schemaVersion;
  if (!record.isJson || !stream.includes("-") || typeof schemaVersion !== "number") return { stream, position };
  const { schemaVersion: _, ...metadata } = stored!;
  const { id, type, data } = record;
  const event = { id, type, data, stream, revision: safe(record.revision), position, schemaVersion, metadata };
  return { stream, position, event: event as Recorded };
}

/** A log position as a number. Throws if the server gives none (older than 22.10) or one beyond 2^53. */
export function safe(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw new Error(`the event store returned ${value}, which is not a position that this service can store`);
  return number;
}

function ownPosition(position: Position | undefined): number | undefined {
  if (!position || position.commit !== position.prepare) return undefined;
  return safe(position.commit);
}

/** The other way: a position as the client wants it; 0 is before everything. */
export const toPosition = (position: number): Position | "start" =>
  position === 0 ? "start" : { commit: BigInt(position), prepare: BigInt(position) };
