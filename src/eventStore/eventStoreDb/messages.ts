import shared from "@eventstore/db-client/generated/shared_pb.js";
import streams from "@eventstore/db-client/generated/streams_pb.js";
import { noStream } from "../eventStore.ts";
import type { ValidEvent } from "../validate.ts";
import { type LogRecord, toPosition, toRecord } from "./events.ts";

const { AppendReq, ReadReq } = streams;
const { ReadDirection } = ReadReq.Options;

/** Builds a read of a stream: backwards from the end, or forwards from a revision (inclusive). */
export function readStreamRequest(name: string, from: number | "end", count: number): streams.ReadReq {
  const stream = new ReadReq.Options.StreamOptions().setStreamIdentifier(identifier(name));
  if (from === "end") stream.setEnd(nothing());
  else stream.setRevision(String(from));
  return readRequest(new ReadReq.Options().setStream(stream), { count, backwards: from === "end" });
}

/** Builds a read of the whole log: backwards from the end, or forwards from a position (inclusive). */
export function readLogRequest(from: number | "end", count: number): streams.ReadReq {
  const all = new ReadReq.Options.AllOptions();
  if (from === "end") all.setEnd(nothing());
  else if (from === 0) all.setStart(nothing());
  else all.setPosition(new ReadReq.Options.Position().setCommitPosition(`${from}`).setPreparePosition(`${from}`));
  return readRequest(new ReadReq.Options().setAll(all), { count, backwards: from === "end" });
}

const readRequest = (
  options: streams.ReadReq.Options,
  { count, backwards }: { count: number; backwards: boolean },
): streams.ReadReq =>
  new ReadReq().setOptions(
    options
      .setReadDirection(backwards ? ReadDirection.BACKWARDS : ReadDirection.FORWARDS)
      .setCount(String(count))
      .setUuidOption(new ReadReq.Options.UUIDOption().setString(nothing()))
      .setNoFilter(nothing()),
  );

/** Returns the records in order; none if the stream does not exist. */
export function readRecords(answers: readonly streams.ReadResp[]): (LogRecord | undefined)[] {
  return answers.flatMap((answer) => {
    const event = answer.getEvent();
    if (!event) return [];
    const recorded = event.getLink() ?? event.getEvent();
    return [recorded && decode(recorded)];
  });
}

/** Returns the size of an answer: the bytes of its event's data and metadata. */
export function bytesOfAnswer(answer: streams.ReadResp): number {
  const event = answer.getEvent();
  const recorded = event?.getLink() ?? event?.getEvent();
  return recorded ? recorded.getData_asU8().length + recorded.getCustomMetadata_asU8().length : 0;
}

/** Returns the log position of the first record, whichever service wrote it. */
export function firstPosition(answers: readonly streams.ReadResp[]): number | undefined {
  const [event] = answers.flatMap((answer) => answer.getEvent() ?? []);
  const position = event?.getEvent()?.getCommitPosition();
  return position === undefined ? undefined : toPosition(position);
}

function decode(recorded: streams.ReadResp.ReadEvent.RecordedEvent): LogRecord | undefined {
  const facts = recorded.getMetadataMap();
  const isJson = facts.get("content-type") === "application/json";
  return toRecord({
    stream: textOf(recorded.getStreamIdentifier()?.getStreamName_asU8()),
    commit: recorded.getCommitPosition(),
    prepare: recorded.getPreparePosition(),
    revision: recorded.getStreamRevision(),
    id: recorded.getId()?.getString() ?? "",
    type: facts.get("type") ?? "",
    isJson,
    data: () => parsed(recorded.getData_asU8()),
    metadata: isJson ? parsed(recorded.getCustomMetadata_asU8()) : undefined,
  });
}

/** Parses JSON; undefined if it is none: then this service did not write it. */
function parsed(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    return undefined;
  }
}

/** Builds the messages of one append: its target, then each event. */
export function appendRequests(
  stream: string,
  expectedRevision: number,
  events: readonly ValidEvent[],
): streams.AppendReq[] {
  const options = new AppendReq.Options().setStreamIdentifier(identifier(stream));
  if (expectedRevision === noStream) options.setNoStream(nothing());
  else options.setRevision(String(expectedRevision));
  return [new AppendReq().setOptions(options), ...events.map(proposed)];
}

/** Builds an event as stored for ever: its data unchanged; its metadata with the schema version added. */
function proposed({ id, type, data, schemaVersion, metadata }: ValidEvent): streams.AppendReq {
  const version = `"schemaVersion":${schemaVersion}}`;
  const message = new AppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(id))
    .setData(bytesOf(data))
    .setCustomMetadata(bytesOf(metadata === "{}" ? `{${version}` : `${metadata.slice(0, -1)},${version}`));
  message.getMetadataMap().set("type", type).set("content-type", "application/json");
  return new AppendReq().setProposedMessage(message);
}

/** Returns the position of a successful append, or the actual revision of the stream. */
export function appendOutcome(
  answer: streams.AppendResp,
): { written: true; revision: number; position: number } | { written: false; revision: number } {
  const success = answer.getSuccess();
  if (success) {
    const position = toPosition(success.getPosition()!.getCommitPosition());
    return { written: true, revision: toPosition(success.getCurrentRevision()), position };
  }
  const wrong = answer.getWrongExpectedVersion()!;
  return { written: false, revision: wrong.hasCurrentRevision() ? toPosition(wrong.getCurrentRevision()) : noStream };
}

const nothing = (): shared.Empty => new shared.Empty();
const encoder = new TextEncoder();
/** Not a Buffer: the generated code accepts only a plain Uint8Array. */
const bytesOf = (text: string): Uint8Array => encoder.encode(text);
const textOf = (bytes: Uint8Array = new Uint8Array()): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
const identifier = (stream: string): shared.StreamIdentifier =>
  new shared.StreamIdentifier().setStreamName(bytesOf(stream));
