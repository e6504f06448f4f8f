import type { ProcessContext, Timer } from "#src/processes/process.ts";

/** What a process is given on the first try of an event; the timers it sets are kept in `timers`. */
export const processContext = (timers: Timer[] = []): ProcessContext => ({
  timers: {
    async set({ key, name, dueAt, payload = {} }) {
      timers.push({ key, name, dueAt, payload });
    },
    cancel: async () => {},
  },
  attempt: 1,
  signal: new AbortController().signal,
});
