import type { EventStoreDBClient } from "@eventstore/db-client";
import { StreamsClient } from "@eventstore/db-client/generated/streams_grpc_pb.js";
import type streams from "@eventstore/db-client/generated/streams_pb.js";
import { asCommandError, NoAnswer } from "./failures.ts";

/**
 * Private methods of the client, which finds the leader, holds the channel, reopens it after a failure, and knows the credentials. Its
 * public appends cannot be cancelled, and may be sent after they were given up (src/decisions.md). They and its reads also cost several
 * times the CPU of the call. As in 6.2.1, the pinned version.
 */
type Internals = {
  execute<T>(kind: typeof StreamsClient, name: string, action: (grpc: StreamsClient) => Promise<T>): Promise<T>;
  callArguments(options: { requiresLeader: boolean; deadline?: number }, call?: { deadline: number }): CallArguments;
};

/** gRPC's metadata and options of a call. */
type CallArguments = Parameters<StreamsClient["append"]> extends [infer M, infer O, ...unknown[]] ? [M, O] : never;

export type Calls = {
  /**
   * Reads from the leader, up to the answer that `isEnough`. Rejects with NoAnswer when `idleMs` pass without a message, or when the store
   * is closed.
   */
  read(
    request: streams.ReadReq,
    idleMs: number,
    isEnough?: (answer: streams.ReadResp) => boolean,
  ): Promise<streams.ReadResp[]>;
  /** Appends by a separate call to the leader. Rejects with NoAnswer when the answer is late, or when the store is closed. */
  append(requests: readonly streams.AppendReq[], deadlineMs: number): Promise<streams.AppendResp>;
};

/** Milliseconds after gRPC's own deadline at which an append is ended if gRPC did not end it. */
const graceMs = 1_000;

/** Creates calls, which reject with the client's errors or NoAnswer. */
export function createCalls(client: EventStoreDBClient, closed: AbortSignal): Calls {
  // These methods are private in the client's declarations.
  const internals = client as unknown as Internals;

  /** Runs a call that ends after `ms` at the latest; `heard` restarts the time. */
  function bounded<T>(ms: number, begin: (call: Pending<T>) => { cancel(): void }): Promise<T> {
    return new Promise((resolve, reject) => {
      let running: { cancel(): void } | undefined;
      let over = false;
      const end = (settle: () => void): void => {
        over = true;
        clearTimeout(timer);
        closed.removeEventListener("abort", giveUp);
        settle();
      };
      const giveUp = (): void => {
        const why = closed.aborted ? "the store was closed" : `no answer within ${Math.round(ms)} ms`;
        end(() => reject(new NoAnswer(why)));
        running?.cancel();
      };
      const timer = setTimeout(giveUp, ms);
      closed.addEventListener("abort", giveUp);
      internals
        .execute(StreamsClient, "streams", (grpc) => {
          if (over) return new Promise<T>(() => {});
          return new Promise<T>((done, failed) => {
            const fail = (error: Error): void => failed(asCommandError(error));
            running = begin({ grpc, done, fail, heard: () => void timer.refresh() });
          });
        })
        .then(
          (result) => end(() => resolve(result)),
          (error) => end(() => reject(error)),
        );
    });
  }

  /**
   * gRPC creates an error at each call, for its stack in case the call fails, which took a quarter of the call's time here. The errors
   * above show the caller.
   */
  function withoutStack<T>(begin: () => T): T {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return begin();
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  }

  return {
    read: (request, idleMs, isEnough) =>
      bounded(idleMs, ({ grpc, done, fail, heard }) => {
        const answers: streams.ReadResp[] = [];
        let over = false;
        const options = internals.callArguments({ requiresLeader: true }, { deadline: Number.POSITIVE_INFINITY });
        const call = withoutStack(() => grpc.read(request, ...options));
        call.on("data", (answer: streams.ReadResp) => {
          if (over) return;
          answers.push(answer);
          heard();
          over = isEnough?.(answer) === true;
          if (!over) return;
          done(answers);
          call.cancel();
        });
        call.on("error", fail);
        call.on("end", () => done(answers));
        return call;
      }),
    append: (requests, deadlineMs) =>
      bounded(deadlineMs + graceMs, ({ grpc, done, fail }) => {
        const options = internals.callArguments({ requiresLeader: true, deadline: deadlineMs });
        const answered: Parameters<StreamsClient["append"]>[2] = (error, answer) =>
          error ? fail(error) : done(answer);
        const call = withoutStack(() => grpc.append(...options, answered));
        call.on("error", fail);
        for (const request of requests) call.write(request);
        call.end();
        return call;
      }),
  };
}

type Pending<T> = {
  grpc: StreamsClient;
  done(result: T): void;
  fail(error: Error): void;
  heard(): void;
};
