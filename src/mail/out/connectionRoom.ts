import type { Unavailable } from "#src/eventStore/eventStore.ts";
import { CredentialsRefused, NoRoom, ProviderBusy } from "#src/mail/mailProvider.ts";

/** Connection limits for a relay. Times are in milliseconds. */
export type RelayConnectionLimits = {
  /** Maximum number of connections open at once. */
  connections: number;
  /** If no connection became free for this long, the number of waiting callers is limited to `connections`. */
  slowAfterMs: number;
  /** Time that a caller without `comesBack` waits for a connection. */
  patienceMs: number;
  /** Time after which one more connection is tried with a relay that accepted fewer than `connections`. */
  offerMoreAfterMs: number;
  /** A relay that was busy for this long, and accepted none of ours, counts as away. */
  busyForMs: number;
};

export const usualRoom: RelayConnectionLimits = {
  connections: 10,
  slowAfterMs: 2_000,
  patienceMs: 60_000,
  offerMoreAfterMs: 30_000,
  busyForMs: 300_000,
};

/** A ready connection, and a promise that settles when it has closed. */
export type OpenedConnection<C> = { connection: C; closed: Promise<unknown> };

export type ConnectionRoom = {
  /**
   * Opens a connection once there is room for it. Waiting is not a failure. A caller with `comesBack` gets NoRoom if that takes long.
   * Throws the error of `open` if the relay accepted no connection, but NoRoom if the relay is only busy.
   */
  take<C>(open: () => Promise<OpenedConnection<C>>, caller: { comesBack: boolean }): Promise<C>;
  /**
   * Resolves when a caller that got NoRoom should retry: as many callers resume as may connect or wait here, in order of asking. A name
   * that asks again keeps its place. While the relay is busy or away, one caller resumes at a time.
   */
  whenRoom(name: string): Promise<void>;
  /** Gives NoRoom to all callers that wait or ask later; none is called back. Connections that are open or being opened continue. */
  close(): void;
};

type WaitingCaller = { comesBack: boolean; enter(): void; refuse(error: NoRoom): void };

/** After this many failures in a row, one connection at a time probes whether the relay is back. */
const failuresUntilProbe = 3;

/**
 * Limits connections to the relay, in order of asking. A relay that accepts some of the connections offered at once and refuses the rest
 * is at its limit: it is offered no more for a while, and no attempt counts as failed. After three failures in a row one connection is
 * opened at a time, until one succeeds. The same applies to a relay that is busy and accepts none because another instance uses them all;
 * that is not a failure either, unless it lasts.
 */
export function createConnectionRoom(
  { connections, slowAfterMs, patienceMs, offerMoreAfterMs, busyForMs }: RelayConnectionLimits,
  now: () => number = () => performance.now(),
): ConnectionRoom {
  const waiting: WaitingCaller[] = [];
  /** Callers that got NoRoom and wait to be called back, by name. */
  const absent = new Map<string, () => void>();
  /** Estimated number of callers that were called back and have not returned yet. */
  let coming = 0;
  const opening = new Set<Promise<unknown>>();
  let ready = 0;
  let failures = 0;
  let lastFailure: Unavailable | undefined;
  /** Time since which the relay has said that it is busy and accepted no connection. */
  let busySince: number | undefined;
  let askAgainAt = 0;
  let allowed = connections;
  let allowedSince = now();
  /** Time when a caller last connected, or began to wait in an empty queue. */
  let movedAt = now();
  let isLooking = false;
  let isClosed = false;

  const isBusy = () => busySince !== undefined;
  const isAway = () => failures >= failuresUntilProbe || (busySince !== undefined && now() - busySince >= busyForMs);
  const isProbed = () => isAway() || isBusy();
  const isFree = () =>
    opening.size + ready < allowed && !(isProbed() && opening.size > 0) && !(isBusy() && now() < askAgainAt);
  const mayWait = () => (isProbed() ? 1 : allowed);
  const isSlow = () => waiting.length >= mayWait() && (isBusy() || now() - movedAt > slowAfterMs);

  function noRoom(): NoRoom {
    if (isClosed) return new NoRoom("no more connections are opened", { away: false });
    const because = isBusy() ? "the relay is busy" : "all connections to the relay are taken";
    return new NoRoom(isAway() ? "the relay is unreachable and being retried" : because, {
      away: isAway(),
      lastFailure,
    });
  }

  function letIn(): void {
    if (allowed < connections && now() - allowedSince >= offerMoreAfterMs) allow(allowed + 1);
    while (waiting.length > 0 && isFree()) waiting.shift()!.enter();
    // While the relay is away, callers are called back by `look` alone, at intervals.
    if (!isAway()) callBack();
  }

  function callBack(): void {
    const places = (isProbed() ? 0 : allowed) + mayWait() - opening.size - ready - waiting.length - coming;
    for (const [name, call] of [...absent].slice(0, Math.max(0, places))) {
      absent.delete(name);
      coming += 1;
      call();
    }
  }

  function allow(count: number): void {
    allowed = Math.min(connections, Math.max(1, count));
    allowedSince = now();
  }

  /** Callers that can come back stop waiting while connections become free slowly. */
  function giveWay(): void {
    for (let n = waiting.length - 1; n >= mayWait() && isSlow(); n--) {
      if (waiting[n]!.comesBack) waiting.splice(n, 1)[0]!.refuse(noRoom());
    }
  }

  function look(): void {
    letIn();
    giveWay();
    // Not every caller that was called back returns: its draft may have been stopped.
    coming = 0;
    callBack();
    isLooking = false;
    lookSoon();
  }

  function lookSoon(): void {
    if (isLooking || waiting.length + absent.size === 0) return;
    isLooking = true;
    setTimeout(look, slowAfterMs / 2).unref();
  }

  /**
   * Waits for a free place and takes it for the connection that `open` starts. A caller that cannot retry later waits until `patientUntil`.
   */
  function enter<C>(
    open: () => Promise<OpenedConnection<C>>,
    { comesBack, patientUntil }: { comesBack: boolean; patientUntil: number },
  ): Promise<{ attempt: Promise<OpenedConnection<C>> }> {
    return new Promise((resolve, reject) => {
      let patience: NodeJS.Timeout | undefined;
      const waiter: WaitingCaller = {
        comesBack,
        enter() {
          clearTimeout(patience);
          movedAt = now();
          const attempt = open();
          opening.add(attempt);
          resolve({ attempt });
        },
        refuse(error) {
          clearTimeout(patience);
          reject(error);
        },
      };
      if (isClosed) return waiter.refuse(noRoom());
      if (waiting.length === 0 && isFree()) return waiter.enter();
      if (comesBack && isSlow()) return waiter.refuse(noRoom());
      if (waiting.length === 0) movedAt = now();
      waiting.push(waiter);
      lookSoon();
      if (!comesBack)
        patience = setTimeout(() => {
          waiting.splice(waiting.indexOf(waiter), 1);
          waiter.refuse(noRoom());
        }, patientUntil - now());
    });
  }

  /** True if the relay accepts one of the other connections that are open or being opened. */
  async function takesOthers(): Promise<boolean> {
    if (ready > 0) return true;
    return Promise.any(opening).then(
      () => true,
      () => false,
    );
  }

  function succeeded(closed: Promise<unknown>): void {
    failures = 0;
    lastFailure = undefined;
    busySince = undefined;
    ready += 1;
    void closed.finally(() => {
      ready -= 1;
      letIn();
    });
  }

  /** Records that the relay is up but accepted no connection. A connection is tried again a little later. */
  function saidBusy(error: ProviderBusy): void {
    failures = 0;
    lastFailure = error;
    busySince ??= now();
    askAgainAt = now() + slowAfterMs;
    giveWay();
  }

  /** Handles a failed attempt: throws, or returns if the caller is to wait again. */
  async function refused(error: Unavailable, comesBack: boolean): Promise<void> {
    if (!(error instanceof CredentialsRefused) && (await takesOthers())) {
      allow(ready + opening.size);
      return letIn();
    }
    // Closing aborts connections being opened: that says nothing about the relay.
    if (isClosed) throw noRoom();
    if (error instanceof ProviderBusy) {
      saidBusy(error);
      if (comesBack) throw noRoom();
      return;
    }
    failures += 1;
    lastFailure = error;
    letIn();
    throw error;
  }

  return {
    async take(open, { comesBack }) {
      const patientUntil = now() + patienceMs;
      if (comesBack && coming > 0) coming -= 1;
      for (;;) {
        const { attempt } = await enter(open, { comesBack, patientUntil });
        try {
          const { connection, closed } = await attempt;
          opening.delete(attempt);
          succeeded(closed);
          letIn();
          return connection;
        } catch (error) {
          opening.delete(attempt);
          await refused(error as Unavailable, comesBack);
        }
      }
    },
    whenRoom: (name) =>
      new Promise((resolve) => {
        if (isClosed) return;
        absent.set(name, resolve);
        lookSoon();
      }),
    close() {
      isClosed = true;
      absent.clear();
      for (const waiter of waiting.splice(0)) waiter.refuse(noRoom());
    },
  };
}
