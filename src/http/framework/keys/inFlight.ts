/** One request under way. */
export type Flight = {
  readonly keyId: string;
  /** Aborted the moment its key is revoked. */
  readonly signal: AbortSignal;
  /** True once it may answer nothing but 401. */
  readonly revoked: boolean;
  leave(): void;
};

/** The requests of this instance that run now, by the key that authenticated them. */
export type InFlight = {
  /** `callId` is this instance's own id of the request; one that a client could choose would let it hide. */
  enter(keyId: string, callId: string): Flight;
  /** From now on the key is dead here: requests under it are aborted, and new ones are refused at once. `except` may finish. */
  revoke(keyId: string, except?: string): void;
  /** Resolves when nothing that runs under the key is left, but for requests that were excepted. */
  ended(keyId: string): Promise<void>;
};

type Running = Flight & { revoke(): void; excepted: boolean };

/** What was revoked longer ago is met by its own look-up: not every session that ever ended is remembered. */
const rememberedMs = 86_400_000;

/** `now`: milliseconds of a clock that only goes forward. */
export function createInFlight({ now = () => performance.now() }: { now?: () => number } = {}): InFlight {
  const running = new Map<string, Map<string, Running>>();
  /** Since when, in that order. */
  const revoked = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();

  const counted = (keyId: string): Running[] =>
    [...(running.get(keyId)?.values() ?? [])].filter((flight) => !flight.excepted);

  function leave(keyId: string, callId: string): void {
    running.get(keyId)?.delete(callId);
    if (running.get(keyId)?.size === 0) running.delete(keyId);
    tellWaiting(keyId);
  }

  function forgetOld(): void {
    for (const [keyId, since] of revoked) {
      if (since > now() - rememberedMs) return;
      revoked.delete(keyId);
    }
  }

  function tellWaiting(keyId: string): void {
    if (counted(keyId).length > 0) return;
    for (const tell of waiting.get(keyId) ?? []) tell();
    waiting.delete(keyId);
  }

  return {
    enter(keyId, callId) {
      const flight = createFlight(keyId, () => leave(keyId, callId));
      if (revoked.has(keyId)) flight.revoke();
      running.set(keyId, (running.get(keyId) ?? new Map()).set(callId, flight));
      return flight;
    },
    revoke(keyId, except) {
      forgetOld();
      if (!revoked.has(keyId)) revoked.set(keyId, now());
      const excepted = except === undefined ? undefined : running.get(keyId)?.get(except);
      if (excepted) excepted.excepted = true;
      for (const flight of counted(keyId)) flight.revoke();
      tellWaiting(keyId);
    },
    ended: (keyId) =>
      counted(keyId).length === 0
        ? Promise.resolve()
        : new Promise((resolve) => waiting.set(keyId, [...(waiting.get(keyId) ?? []), resolve])),
  };
}

function createFlight(keyId: string, leave: () => void): Running {
  const abort = new AbortController();
  return {
    keyId,
    signal: abort.signal,
    get revoked() {
      return abort.signal.aborted;
    },
    excepted: false,
    revoke: () => abort.abort(),
    leave,
  };
}
