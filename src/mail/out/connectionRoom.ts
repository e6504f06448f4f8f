import type { Unavailable } from "#src/eventStore/eventStore.ts";
import { CredentialsRefused, NoRoom, ProviderBusy } from "#src/mail/mailProvider.ts";

/** What a relay lets be open at once. Times are in milliseconds. */
export type RoomLimits = {
  /** Connections that may be open at once. */
  connections: number;
  /** Connections come free slowly where none did for so long: then only as many wait here as may be open. */
  slowAfterMs: number;
  /** How long somebody waits who cannot come back later. */
  patienceMs: number;
  /** A relay that took fewer connections is offered one more after so long. */
  offerMoreAfterMs: number;
  /** A relay that has been busy for so long, and took none of ours, counts as away. */
  busyForMs: number;
};

export const usualRoom: RoomLimits = {
  connections: 10,
  slowAfterMs: 2_000,
  patienceMs: 60_000,
  offerMoreAfterMs: 30_000,
  busyForMs: 300_000,
};

/** A connection that is ready, and when it has closed. */
export type Opened<C> = { connection: C; closed: Promise<unknown> };

export type ConnectionRoom = {
  /**
   * Opens a connection once there is room for it. Waiting is no failure. A caller that `comesBack` is told NoRoom if that takes long. Throws what
   * `open` throws if the relay took no connection, but NoRoom if the relay is only busy.
   */
  take<C>(open: () => Promise<Opened<C>>, caller: { comesBack: boolean }): Promise<C>;
  /**
   * Resolves when a caller that was told NoRoom is to come back: as many are called as may be let in or wait here, in the order of asking. A name
   * that asks again keeps its place. While the relay is busy or away one is called at a time.
   */
  whenRoom(name: string): Promise<void>;
  /** Tells those who wait NoRoom, and all who ask later; nobody is called any more. What is open, or being opened, goes on. */
  close(): void;
};

type Waiter = { comesBack: boolean; enter(): void; refuse(error: NoRoom): void };

/** So many failures in a row, and one connection at a time finds out whether the relay is back. */
const failuresUntilProbe = 3;

/**
 * Who may open a connection to the relay, in the order of asking. A relay that takes some of the connections offered at once and refuses the
 * rest allows no more: it is offered no more for a while, and nobody has failed. After three failures in a row a single one is opened at
 * a time, until one succeeds. So it is with a relay that is busy and takes none, because another instance has all it allows; that is no
 * failure either, unless it lasts.
 */
export function createConnectionRoom(
  { connections, slowAfterMs, patienceMs, offerMoreAfterMs, busyForMs }: RoomLimits,
  now: () => number = () => performance.now(),
): ConnectionRoom {
  const waiting: Waiter[] = [];
  /** Those who were told NoRoom and come back when they are called, by name. */
  const absent = new Map<string, () => void>();
  /** How many of them were called and are on their way, as far as is known. */
  let coming = 0;
  const opening = new Set<Promise<unknown>>();
  let ready = 0;
  let failures = 0;
  let lastFailure: Unavailable | undefined;
  /** Since then the relay has said that it is busy, and has taken nobody. */
  let busySince: number | undefined;
  let askAgainAt = 0;
  let allowed = connections;
  let allowedSince = now();
  /** When somebody was let in last, or began to wait where nobody did. */
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
    return new NoRoom(isAway() ? "the relay is away, and is being tried" : because, { away: isAway(), lastFailure });
  }

  function letIn(): void {
    if (allowed < connections && now() - allowedSince >= offerMoreAfterMs) allow(allowed + 1);
    while (waiting.length > 0 && isFree()) waiting.shift()!.enter();
    // One that is away is tried by one of those at each look, not again and again.
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

  /** Those who can come back do so while connections come free slowly. */
  function giveWay(): void {
    for (let n = waiting.length - 1; n >= mayWait() && isSlow(); n--) {
      if (waiting[n]!.comesBack) waiting.splice(n, 1)[0]!.refuse(noRoom());
    }
  }

  function look(): void {
    letIn();
    giveWay();
    // Not each of those that were called comes: a draft may have been stopped meanwhile.
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

  /** Waits for a place, and takes it for what `open` begins. Somebody who cannot come back waits until `patientUntil`. */
  function enter<C>(
    open: () => Promise<Opened<C>>,
    { comesBack, patientUntil }: { comesBack: boolean; patientUntil: number },
  ): Promise<{ attempt: Promise<Opened<C>> }> {
    return new Promise((resolve, reject) => {
      let patience: NodeJS.Timeout | undefined;
      const waiter: Waiter = {
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

  /** Whether the relay takes one of the others that are open or being opened. */
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

  /** It is there and took nobody. It is asked again a little later: others are served meanwhile. */
  function saidBusy(error: ProviderBusy): void {
    failures = 0;
    lastFailure = error;
    busySince ??= now();
    askAgainAt = now() + slowAfterMs;
    giveWay();
  }

  /** What came of an attempt that failed: throws, or the caller is to wait again. */
  async function refused(error: Unavailable, comesBack: boolean): Promise<void> {
    if (!(error instanceof CredentialsRefused) && (await takesOthers())) {
      allow(ready + opening.size);
      return letIn();
    }
    // Closing ends what was being opened: that says nothing about the relay.
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
