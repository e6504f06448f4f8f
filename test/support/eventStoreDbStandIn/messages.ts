import shared from "@eventstore/db-client/generated/shared_pb.js";
import streams from "@eventstore/db-client/generated/streams_pb.js";
import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { type AppendAnswer, type Expected, maxAppendSize, type Proposed, type StoredRecord } from "./log.ts";

const { AppendResp, ReadResp } = streams;

/** Converts the wire's messages from and to plain values. */
export function readOptions(request: streams.AppendReq): { stream: string; expected: Expected } {
  const options = request.getOptions()!;
  const stream = nameOf(options.getStreamIdentifier());
  if (options.hasNoStream()) return { stream, expected: "no_stream" };
  if (options.hasAny()) return { stream, expected: "any" };
  if (options.hasStreamExists()) return { stream, expected: "stream_exists" };
  return { stream, expected: Number(options.getRevision()) };
}

export function readProposed(request: streams.AppendReq): Proposed {
  const message = request.getProposedMessage()!;
  return {
    id: message.getId()!.getString(),
    type: message.getMetadataMap().get("type") ?? "",
    contentType: message.getMetadataMap().get("content-type") ?? "",
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

export const nameOf = (identifier: shared.StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString();

const identifierOf = (name: string): shared.StreamIdentifier =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(name));

/** Makes the answer to an append. A refused revision is a normal answer; only an excessive size is an error. */
export function appendAnswer(answer: Exclude<AppendAnswer, { kind: "too_large" }>): streams.AppendResp {
  if (answer.kind === "wrong") {
    const wrong = new AppendResp.WrongExpectedVersion();
    if (answer.current < 0) wrong.setCurrentNoStream(new shared.Empty());
    else wrong.setCurrentRevision(String(answer.current));
    return new AppendResp().setWrongExpectedVersion(wrong);
  }
  const position = String(answer.last.position);
  return new AppendResp().setSuccess(
    new AppendResp.Success()
      .setCurrentRevision(String(answer.last.revision))
      .setPosition(new AppendResp.Position().setCommitPosition(position).setPreparePosition(position)),
  );
}

export function tooLarge(): Partial<ServiceError> {
  const metadata = new Metadata();
  metadata.set("exception", "maximum-append-size-exceeded");
  metadata.set("maximum-append-size", String(maxAppendSize));
  return { code: status.INVALID_ARGUMENT, details: `Maximum Append Size of ${maxAppendSize} Exceeded.`, metadata };
}

export function eventMessage(record: StoredRecord): streams.ReadResp {
  const position = String(record.position);
  const recorded = new ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(record.id))
    .setStreamIdentifier(identifierOf(record.stream))
    .setStreamRevision(String(record.revision))
    .setCommitPosition(position)
    .setPreparePosition(position)
    .setData(record.data)
    .setCustomMetadata(record.metadata);
  const ticks = BigInt(record.writtenAt) * 10_000n;
  recorded.getMetadataMap().set("type", record.type).set("content-type", record.contentType).set("created", `${ticks}`);
  return new ReadResp().setEvent(new ReadResp.ReadEvent().setEvent(recorded).setCommitPosition(position));
}

export const caughtUpMessage = (): streams.ReadResp => new ReadResp().setCaughtUp(new ReadResp.CaughtUp());
export const confirmationMessage = (id: string): streams.ReadResp =>
  new ReadResp().setConfirmation(new ReadResp.SubscriptionConfirmation().setSubscriptionId(id));
export const notFoundMessage = (stream: string): streams.ReadResp =>
  new ReadResp().setStreamNotFound(new ReadResp.StreamNotFound().setStreamIdentifier(identifierOf(stream)));
