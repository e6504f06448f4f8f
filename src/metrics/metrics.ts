/** What the service tells about itself in numbers, as a port: who measures does not know how it is shown. */
export type Metrics = {
  /** A request was answered. `route` is the pattern of its path: the paths themselves carry ids. */
  answered(request: { method: string; route: string; status: number }, seconds: number): void;
  /** An append to the event log ended: done with these types of event, overtaken by another one, or failed. */
  appended(append: { outcome: "done" | "moved" | "failed"; types: readonly string[] }, seconds: number): void;
  /** Everything, as text for whoever collects it. */
  shown(): Promise<{ contentType: string; text: string }>;
};

/** How much waits where, looked up when it is asked for. Positions of the log for those that follow it. */
export type Depths = {
  projectionLag: ReadonlyMap<string, number>;
  processLag: ReadonlyMap<string, number>;
  timersDue: ReadonlyMap<string, number>;
  /** Events and timers that processes gave up on. */
  parked: ReadonlyMap<string, number>;
  draftsSending: number;
  webhookDeliveriesPending: number;
};
