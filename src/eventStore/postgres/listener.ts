import pgListen from "pg-listen";
import { connectionTo } from "#src/platform/postgres/connectionTo.ts";
import type { AdapterLog } from "../recovery.ts";

export type ListenerOptions = {
  connectionString: string;
  /** Milliseconds that a check of the connection, and an attempt to open one, may take. */
  timeoutMs: number;
  log: AdapterLog;
  /** Called with the payload of each notification, "" if it has none. */
  onNotified(payload: string): void;
  /** Called when a connection was opened: notifications may have been lost before. */
  onConnected(): void;
};

/** Connection that listens to commits, and is replaced when it breaks. */
export type CommitListener = {
  /** Starts to listen, unless it does already. */
  listen(): void;
  close(): void;
};

/** Milliseconds between checks of the connection. */
const checkMs = 1_000;
/** Milliseconds between attempts to reconnect. */
const retryMs = 500;

const channel = "events";

export function createListener({
  connectionString,
  timeoutMs,
  log,
  onNotified,
  onConnected,
}: ListenerOptions): CommitListener {
  let connecting: Promise<void> | undefined;
  let listening = false;
  let closed = false;

  const subscriber = pgListen.default(
    connectionTo(connectionString, {
      application_name: "countersign log listener",
      // Without timeouts neither a check nor an attempt to connect ends if the network drops all packets.
      ...{ query_timeout: timeoutMs, connectionTimeoutMillis: timeoutMs },
    }),
    {
      ...{ paranoidChecking: checkMs, retryTimeout: Number.POSITIVE_INFINITY, parse: (payload: string) => payload },
      retryInterval() {
        // Ends the attempts, which continue after the package's close() (andywer/pg-listen issue 61).
        if (closed) throw new Error("the event log is closed");
        return retryMs;
      },
    },
  );
  subscriber.notifications.on(channel, (payload = "") => onNotified(payload));
  subscriber.events.on("connected", () => (closed ? end() : onConnected()));
  subscriber.events.on("error", (error) => {
    listening = false;
    if (closed) end();
    else log.warn({ err: error }, "cannot watch the event log, retrying");
  });

  /** Closes the subscriber, and also a connection that was being opened at that moment. */
  function end(): void {
    subscriber.close().catch(() => {});
  }

  async function begin(): Promise<void> {
    // A failed first attempt is retried without its caller.
    connecting ??= subscriber.connect().catch(() => {});
    await connecting;
    // The package considers a channel subscribed although its LISTEN failed.
    await subscriber.unlisten(channel);
    await subscriber.listenTo(channel);
  }

  return {
    listen() {
      if (listening) return;
      listening = true;
      begin().catch(() => {
        listening = false;
      });
    },
    close() {
      closed = true;
      end();
    },
  };
}
