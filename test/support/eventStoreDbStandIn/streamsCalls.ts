import type streams from "@eventstore/db-client/generated/streams_pb.js";
import {
  type ServerReadableStream,
  type ServiceError,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import type { Proposed, RecordLog, StoredRecord } from "./log.ts";
import {
  appendAnswer,
  eventMessage,
  nameOf,
  notFoundMessage,
  readOptions,
  readProposed,
  tooLarge,
} from "./messages.ts";
import { type Filter, LogSubscription, type ReadCall } from "./subscription.ts";

type AppendCall = ServerReadableStream<streams.AppendReq, streams.AppendResp>;

/** A fault of an append: written or not, and with a gRPC status or no answer at all. */
export type AppendFault = { written: boolean; code?: status };

/** The Streams service, with its possible faults. */
export class StreamsCalls {
  log: RecordLog;
  readonly subscriptions = new Set<LogSubscription>();
  /** One entry for each future append, in order. */
  readonly appendFaults: AppendFault[] = [];
  /** Accepts reads but never answers them. */
  readsHang = false;
  appends = 0;
  batchAppends = 0;
  subscriptionsOpened = 0;

  constructor(log: RecordLog) {
    this.log = log;
  }

  replaceLog(log: RecordLog): void {
    this.log = log;
    for (const subscription of this.subscriptions) subscription.moveTo(log);
  }

  service(): UntypedServiceImplementation {
    const unimplemented = (
      call: { emit(event: string, error: unknown): void },
      answer?: sendUnaryData<unknown>,
    ): void => {
      const error = { code: status.UNIMPLEMENTED, details: "the stand-in does not do this" };
      if (answer) answer(error);
      else call.emit("error", error);
    };
    return {
      append: (call: AppendCall, answer: sendUnaryData<streams.AppendResp>) => this.#append(call, answer),
      read: (call: ReadCall) => this.#read(call),
      batchAppend: (call: AppendCall) => {
        this.batchAppends++;
        unimplemented(call);
      },
      delete: unimplemented,
      tombstone: unimplemented,
    };
  }

  #append(call: AppendCall, answer: sendUnaryData<streams.AppendResp>): void {
    const requests: streams.AppendReq[] = [];
    call.on("data", (request: streams.AppendReq) => requests.push(request));
    call.on("error", () => {});
    call.on("end", () => {
      this.appends++;
      const fault = this.appendFaults.shift();
      const [options, ...messages] = requests;
      const [error, response] = fault && !fault.written ? [null] : this.#write(options!, messages.map(readProposed));
      if (!fault) answer(error, response);
      else if (fault.code !== undefined) answer({ code: fault.code, details: "as the test wished" });
    });
  }

  #write(options: streams.AppendReq, events: Proposed[]): [Partial<ServiceError> | null, streams.AppendResp?] {
    const { stream, expected } = readOptions(options);
    const result = this.log.append(stream, expected, events);
    return result.kind === "too_large" ? [tooLarge()] : [null, appendAnswer(result)];
  }

  #read(call: ReadCall): void {
    call.on("error", () => {});
    const options = call.request.getOptions()!;
    if (options.hasSubscription()) this.#subscribe(call, options);
    else if (!this.readsHang) this.#answer(call, options);
  }

  #answer(call: ReadCall, options: streams.ReadReq.Options): void {
    const count = Number(options.getCount());
    if (count === 0) fail(call, status.INVALID_ARGUMENT, "a count of 0");
    if (count === 0) return;
    const records = options.hasStream() ? this.#ofStream(call, options) : this.#ofAll(call, options);
    if (!records) return;
    for (const record of records.slice(0, count)) call.write(eventMessage(record));
    call.end();
  }

  #ofStream(call: ReadCall, options: streams.ReadReq.Options): StoredRecord[] | undefined {
    const stream = options.getStream()!;
    const name = nameOf(stream.getStreamIdentifier());
    const records = this.log.streams.get(name);
    if (!records) {
      call.write(notFoundMessage(name));
      call.end();
      return undefined;
    }
    if (options.getReadDirection() === 1) {
      return records.slice(0, stream.hasEnd() ? undefined : Number(stream.getRevision()) + 1).reverse();
    }
    return records.slice(stream.hasStart() ? 0 : Number(stream.getRevision()));
  }

  #ofAll(call: ReadCall, options: streams.ReadReq.Options): StoredRecord[] | undefined {
    const backwards = options.getReadDirection() === 1;
    const index = this.#startOf(call, options);
    if (index === undefined) return undefined;
    return backwards ? this.log.records.slice(0, index).reverse() : this.log.records.slice(index);
  }

  /** Returns where a read of the whole log starts. A position without a record is answered "unknown", one beyond the end is accepted. */
  #startOf(call: ReadCall, options: streams.ReadReq.Options): number | undefined {
    const all = options.getAll()!;
    if (all.hasStart()) return 0;
    if (all.hasEnd()) return this.log.records.length;
    const index = this.log.indexOf(Number(all.getPosition()!.getCommitPosition()));
    if (index === undefined) fail(call, status.UNKNOWN, "Unexpected ReadAllResult: Error");
    return index;
  }

  #subscribe(call: ReadCall, options: streams.ReadReq.Options): void {
    this.subscriptionsOpened++;
    const index = this.#startOf(call, options);
    if (index === undefined) return;
    const exclusive = options.getAll()!.hasPosition() && index < this.log.records.length ? 1 : 0;
    const subscription = new LogSubscription(call, this.log, filterOf(options));
    this.subscriptions.add(subscription);
    call.once("close", () => this.subscriptions.delete(subscription));
    call.once("cancelled", () => this.subscriptions.delete(subscription));
    void subscription.run(index + exclusive);
  }
}

function fail(call: ReadCall, code: status, details: string): void {
  call.emit("error", { code, details });
}

function filterOf(options: streams.ReadReq.Options): Filter {
  const filter = options.getFilter();
  const names = filter?.getStreamIdentifier();
  const expression = names ?? filter?.getEventType();
  if (!expression) return () => true;
  const prefixes = expression.getPrefixList();
  const pattern = new RegExp(expression.getRegex() || "(?!)");
  return (record) => {
    const text = names ? record.stream : record.type;
    return prefixes.length > 0 ? prefixes.some((prefix) => text.startsWith(prefix)) : pattern.test(text);
  };
}
