/** Work that runs once at a time for each key: callers that arrive while it runs share its outcome. */
export type SingleFlight<T> = {
  run(key: string, work: () => Promise<T>): Promise<T>;
  /** Returns the work in progress for this key; undefined if none is. */
  underWay(key: string): Promise<T> | undefined;
};

export function createSingleFlight<T>(): SingleFlight<T> {
  const running = new Map<string, Promise<T>>();
  return {
    run(key, work) {
      const known = running.get(key);
      if (known) return known;
      const begun = work().finally(() => running.delete(key));
      running.set(key, begun);
      return begun;
    },
    underWay: (key) => running.get(key),
  };
}
