import { once } from "node:events";
import type streams from "@eventstore/db-client/generated/streams_pb.js";
import { type ServerWritableStream, status } from "@grpc/grpc-js";
import type { RecordLog, StoredRecord } from "./log.ts";
import { caughtUpMessage, confirmationMessage, eventMessage } from "./messages.ts";

export type ReadCall = ServerWritableStream<streams.ReadReq, streams.ReadResp>;
export type Filter = (record: StoredRecord) => boolean;

/** Maximum number of live events that wait for a subscriber; with more, the subscription ends. */
const liveBuffer = 32;

/** One subscription to the whole log: catches up, sends the message caughtUp, then delivers live records from a small buffer. */
export class LogSubscription {
  /** Simulates a server that hangs and sends nothing more. */
  stalled = false;
  /** True once it has caught up; from then on it receives records as they are written. */
  live = false;
  readonly #call: ReadCall;
  #log: RecordLog;
  readonly #passes: Filter;
  readonly #waiting: streams.ReadResp[] = [];
  #pumping = false;
  #over = false;
  #stopListening = (): void => {};

  constructor(call: ReadCall, log: RecordLog, passes: Filter) {
    this.#call = call;
    this.#log = log;
    this.#passes = passes;
    call.once("close", () => this.#finish());
    call.once("cancelled", () => this.#finish());
  }

  /** Runs from the record at this index on. */
  async run(from: number): Promise<void> {
    await this.#send(confirmationMessage(crypto.randomUUID()));
    let next = from;
    while (!this.#over && next < this.#log.records.length) {
      const record = this.#log.records[next++]!;
      if (this.#passes(record)) await this.#send(eventMessage(record));
    }
    if (this.#over) return;
    this.#stopListening = this.#log.onWrite((record) => this.#live(record));
    this.live = true;
    this.#enqueue(caughtUpMessage());
  }

  /** Replaces the log below it without notice; events written there are delivered as usual. */
  moveTo(log: RecordLog): void {
    this.#stopListening();
    this.#log = log;
    if (this.#over) return;
    this.#stopListening = log.onWrite((record) => this.#live(record));
  }

  end(code: status, details: string): void {
    if (this.#over) return;
    this.#finish();
    this.#call.emit("error", { code, details });
  }

  #live(record: StoredRecord): void {
    if (this.#passes(record)) this.#enqueue(eventMessage(record));
  }

  #enqueue(message: streams.ReadResp): void {
    this.#waiting.push(message);
    if (this.#waiting.filter((waiting) => waiting.hasEvent()).length > liveBuffer) {
      this.end(
        status.ABORTED,
        "Operation timed out: Consumer too slow to handle event while live. Client resubscription required.",
      );
    } else if (!this.#pumping) this.#pump();
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    while (!this.#over && this.#waiting.length > 0) {
      await new Promise(setImmediate);
      const message = this.#waiting.shift();
      if (message) await this.#send(message);
    }
    this.#pumping = false;
  }

  async #send(message: streams.ReadResp): Promise<void> {
    if (this.#over || this.stalled) return;
    if (this.#call.write(message)) return;
    const waited = new AbortController();
    const { signal } = waited;
    const ends = ["drain", "close", "cancelled"].map((event) => once(this.#call, event, { signal }));
    await Promise.race(ends).catch(() => {});
    waited.abort();
    await Promise.allSettled(ends);
  }

  #finish(): void {
    this.#over = true;
    this.#stopListening();
  }
}
