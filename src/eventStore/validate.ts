import { InvalidAppend, maxAppendBytes, maxEventBytes, type NewEvent, noStream } from "./eventStore.ts";

/** A validated and serialised event: `data` and `metadata` are JSON text, so that no adapter serialises them twice. */
export type ValidEvent = { id: string; type: string; schemaVersion: number; data: string; metadata: string };

const streamName = /^[A-Za-z][A-Za-z0-9]*-[A-Za-z0-9._:@+=~/-]{1,200}$/;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const eventType = /^[A-Za-z][A-Za-z0-9]{0,99}$/;
const maxSchemaVersion = 32_767;

/**
 * Finds everything that makes an append impossible before a store is called: a store may never answer a bad one. Returns the events ready
 * to be stored. Throws InvalidAppend.
 */
export function validateAppend(stream: string, expectedRevision: number, events: readonly NewEvent[]): ValidEvent[] {
  validateStream(stream);
  validateRevision(expectedRevision);
  if (events.length === 0) throw new InvalidAppend(`nothing to append to ${stream}`);
  const valid = events.map((event, index) => validateEvent(event, events.length - 1 - index));
  if (new Set(valid.map((event) => event.id)).size < valid.length)
    throw new InvalidAppend(`an append to ${stream} has the same event id twice`);
  const bytes = valid.reduce(
    (sum, event) => sum + Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata),
    0,
  );
  if (bytes > maxAppendBytes)
    throw new InvalidAppend(`an append to ${stream} has ${bytes} bytes: at most ${maxAppendBytes} are allowed`);
  return valid;
}

/** True for `category-id`, the category without a dash; ASCII, so that no store normalises or refuses it. */
export const isStreamName = (stream: string): boolean => streamName.test(stream);

/** Throws InvalidAppend. */
export function validateStream(stream: string): void {
  if (!isStreamName(stream)) throw new InvalidAppend(`${JSON.stringify(stream)} is not a stream name`);
}

/** Requires an explicit revision or noStream, never "any". Throws InvalidAppend. */
export function validateRevision(revision: number): void {
  if (!Number.isSafeInteger(revision) || revision < noStream) throw new InvalidAppend(`${revision} is not a revision`);
}

/** `more`: number of events of the append that follow it. */
function validateEvent(event: NewEvent, more: number): ValidEvent {
  const { id, type, schemaVersion = 1 } = event;
  if (!uuid.test(id)) throw new InvalidAppend(`${JSON.stringify(id)} is not an event id: expected a UUID`);
  if (!eventType.test(type)) throw new InvalidAppend(`${JSON.stringify(type)} is not an event type`);
  if (!Number.isInteger(schemaVersion) || schemaVersion < 1 || schemaVersion > maxSchemaVersion) {
    throw new InvalidAppend(`${type}: ${schemaVersion} is not a schema version`);
  }
  const data = jsonObject(event.data, `${type}'s data`);
  const bytes = Buffer.byteLength(data);
  if (bytes > maxEventBytes)
    throw new InvalidAppend(
      `the data of ${type} has ${bytes} bytes: at most ${maxEventBytes} are allowed; put larger content in the blob store`,
    );
  const metadata = jsonObject(placedIn(event.metadata, more), `${type}'s metadata`);
  return { id: id.toLowerCase(), type, schemaVersion, data, metadata };
}

/** Sets `more`, also if the metadata were copied from another event. Metadata that are no object are refused later. */
const placedIn = (metadata: unknown, more: number): unknown =>
  isObject(metadata) ? { ...metadata, more: more || undefined } : metadata;

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function jsonObject(value: unknown, what: string): string {
  if (!isObject(value)) throw new InvalidAppend(`${what} is not a JSON object`);
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    throw new InvalidAppend(`${what} cannot be written as JSON: ${(error as Error).message}`);
  }
  if (!json?.startsWith("{")) throw new InvalidAppend(`${what} is not a JSON object`);
  return json;
}
