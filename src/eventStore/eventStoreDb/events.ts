import type { Metadata, Recorded } from "#streams/event.ts";

/** A record of the log. `event` is absent if this service did not write it. */
export type LogRecord = { stream: string; position: number; event?: Recorded };

/** Fields of a record as sent by the server. Numbers may exceed 2^53. */
type ServerRecord = {
  stream: string;
  commit: string | bigint | undefined;
  prepare: string | bigint | undefined;
  revision: string | bigint;
  id: string;
  type: string;
  isJson: boolean;
  data(): unknown;
  metadata: unknown;
};

/** Converts a record; undefined if it has no position of its own (a part of an explicit transaction, which this service never writes). */
export function toRecord(stored: ServerRecord): LogRecord | undefined {
  const { stream, commit, prepare, id, type } = stored;
  if (commit === undefined || commit !== prepare) return undefined;
  const position = toPosition(commit);
  const kept = stored.metadata as (Metadata & { schemaVersion?: unknown }) | undefined;
  const schemaVersion = kept?.schemaVersion;
  if (!stored.isJson || !stream.includes("-") || typeof schemaVersion !== "number") return { stream, position };
  const { schemaVersion: _, ...metadata } = kept!;
  const revision = toPosition(stored.revision);
  const event = { id, type, data: stored.data(), stream, revision, position, schemaVersion, metadata };
  return { stream, position, event: event as Recorded };
}

/** Converts a log position to a number. Throws if the server gives none (older than 22.10) or one beyond 2^53. */
export function toPosition(value: bigint | string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw new Error(`the event store returned ${value}, which is not a position that this service can store`);
  return number;
}
