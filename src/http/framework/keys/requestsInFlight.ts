/** A request in progress. */
export type RequestInFlight = {
  readonly keyId: string;
  /** Aborted when its key is revoked. */
  readonly signal: AbortSignal;
  /** True if the key is revoked: only 401 may be answered. */
  readonly revoked: boolean;
  leave(): void;
};

/** The requests in progress on this instance, by the key or session that admitted them. */
export type RequestsInFlight = {
  /**
   * `callId`: this instance's id of the request. A client must not choose the id, or its request could pass as the one that `except` names.
   */
  enter(keyId: string, callId: string): RequestInFlight;
  /** Marks the key as revoked here: its requests are aborted and new ones are refused at once. The request `except` may finish. */
  revoke(keyId: string, except?: string): void;
  /** Resolves when no request of the key is left, except the excepted one. */
  ended(keyId: string): Promise<void>;
};

type Running = RequestInFlight & { revoke(): void; excepted: boolean };

/** Milliseconds for which a revocation is kept in memory. Later requests are refused when their key or session is looked up. */
const rememberedMs = 86_400_000;

/** `now`: monotonic milliseconds. */
export function createRequestsInFlight({
  now = () => performance.now(),
}: {
  now?: () => number;
} = {}): RequestsInFlight {
  const running = new Map<string, Map<string, Running>>();
  /** Time of revocation by key id, oldest first. */
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
