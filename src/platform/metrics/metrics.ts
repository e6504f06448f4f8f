/** Port for the service's metrics: code that measures does not know how they are exported. */
export type Metrics = {
  /** Counts an answered request. `route` is the pattern of its path: the paths themselves contain ids. */
  answered(request: { method: string; route: string; status: number }, seconds: number): void;
  /** Counts an append to the event log: done with these event types, refused because the stream had moved, or failed. */
  appended(append: { outcome: "done" | "moved" | "failed"; types: readonly string[] }, seconds: number): void;
  /** Counts a mail quarantined because its stored bytes are lost; other outcomes are counted from the appended events. */
  mailLost(): void;
  /** Counts a refused HTTP connection. */
  httpRefused(reason: HttpRefusal): void;
  /** Counts a sending mail server that was deferred or disconnected. */
  mailRefused(reason: MailRefusal): void;
  /** Counts a notification mail that was withheld: its kind (approval, outcome, notice, test, rule), and why. */
  mailWithheld(kind: string, why: string): void;
  /** Returns all metrics as text, for the collector. */
  shown(): Promise<{ contentType: string; text: string }>;
};

/** Reason of a refused HTTP connection: the limit of one address, or of all together. */
export type HttpRefusal = "connections_of_address" | "connections";

/**
 * Reason of a refused mail connection: limits of one address, and of all together; a client that is too slow or guesses recipients;
 * SMTP_IN_BUDGET and SMTP_IN_UNANSWERED_MB; too little disk space.
 */
export type MailRefusal =
  | "connections_of_address"
  | "connections"
  | "bytes_of_address"
  | "bytes"
  | "too_slow"
  | "unknown_recipients"
  | "budget"
  | "unanswered"
  | "disk";

/** Depths of all queues, read on request. For readers of the log, in positions. */
export type QueueDepths = {
  projectionLag: ReadonlyMap<string, number>;
  /** 1 for a read model that was ejected from the main group, 0 for those in it. */
  projectionLeft: ReadonlyMap<string, number>;
  processLag: ReadonlyMap<string, number>;
  timersDue: ReadonlyMap<string, number>;
  /**
   * Lanes by process (a lane is everything that one process has to do under one key): ready, running, and set aside until something
   * happens.
   */
  lanesReady: ReadonlyMap<string, number>;
  /** Seconds that the oldest ready lane has waited; 0 if none is ready. */
  oldestReadySeconds: ReadonlyMap<string, number>;
  lanesRunning: ReadonlyMap<string, number>;
  lanesSetAside: ReadonlyMap<string, number>;
  /** Number of events and timers that processes parked, by process. */
  parked: ReadonlyMap<string, number>;
  draftsSending: number;
  draftsPending: number;
  /** Seconds that the oldest pending draft has waited for a decision; 0 if none waits. */
  oldestPendingSeconds: number;
  webhookDeliveriesPending: number;
  /** True if the operator has paused all sending. */
  paused: boolean;
};

/** Definition of an exported metric: name, kind, description and labels. */
export type Measure = {
  name: `countersign_${string}`;
  kind: "histogram" | "counter" | "gauge";
  help: string;
  labels: readonly string[];
};

/** All metrics of the service itself. Those of the runtime (`process_…`, `nodejs_…`) are from the client library. */
export const measures = {
  requests: {
    name: "countersign_http_request_duration_seconds",
    kind: "histogram",
    help: "Requests by method, route and status, with their duration.",
    labels: ["method", "route", "status"],
  },
  httpRefused: {
    name: "countersign_http_connections_refused_total",
    kind: "counter",
    help: "Connections to HTTP that this instance refused, by the limit of HTTP_CONNECTIONS that they exceeded: connections_of_address or connections.",
    labels: ["reason"],
  },
  appends: {
    name: "countersign_append_duration_seconds",
    kind: "histogram",
    help: "Appends to the event log by outcome, with their duration.",
    labels: ["outcome"],
  },
  events: {
    name: "countersign_events_appended_total",
    kind: "counter",
    help: "Events this instance appended, by type.",
    labels: ["type"],
  },
  deliveries: {
    name: "countersign_deliveries_total",
    kind: "counter",
    help: "Outcomes of mail handed to the delivery provider, as this instance recorded them.",
    labels: ["outcome"],
  },
  mailRefused: {
    name: "countersign_mail_refused_total",
    kind: "counter",
    help: "Mail or connections of senders that this instance refused for a while, by reason: connections_of_address, connections, bytes_of_address, bytes, too_slow, unknown_recipients, budget, unanswered or disk.",
    labels: ["reason"],
  },
  mailQuarantined: {
    name: "countersign_mail_quarantined_total",
    kind: "counter",
    help: "Mails that could not be recorded as they are, or whose stored bytes are lost, and were quarantined by this instance.",
    labels: [],
  },
  mailWithheld: {
    name: "countersign_service_mail_withheld_total",
    kind: "counter",
    help: "Mails of the service's own that this instance kept back, by what they were for (account, approval, outcome, members, notice, test, rule or stop_link) and why: mailbox_full, workspace_full, stopped or paused.",
    labels: ["kind", "reason"],
  },
  stateBytes: {
    name: "countersign_state_cache_bytes",
    kind: "gauge",
    help: "Memory for states of streams that this instance keeps, in bytes, estimated: it stays below 32 MB.",
    labels: [],
  },
  projectionLag: {
    name: "countersign_projection_lag",
    kind: "gauge",
    help: "Lag of a read model behind the log, in positions.",
    labels: ["projection"],
  },
  projectionLeft: {
    name: "countersign_projection_left",
    kind: "gauge",
    help: "1 while a read model is behind those it is served with, and what is answered from it answers 503, otherwise 0.",
    labels: ["projection"],
  },
  processLag: {
    name: "countersign_process_lag",
    kind: "gauge",
    help: "Lag of a process behind the log, in positions.",
    labels: ["process"],
  },
  timersDue: {
    name: "countersign_timers_due",
    kind: "gauge",
    help: "Timers that are due but not handled yet.",
    labels: ["process"],
  },
  lanesReady: {
    name: "countersign_lanes_ready",
    kind: "gauge",
    help: "Keys under which a process has something to do and no instance works yet.",
    labels: ["process"],
  },
  oldestReadySeconds: {
    name: "countersign_lanes_oldest_ready_seconds",
    kind: "gauge",
    help: "How long the key of a process has waited that became ready first and that no instance works on yet, in seconds; 0 if none is ready.",
    labels: ["process"],
  },
  lanesRunning: {
    name: "countersign_lanes_running",
    kind: "gauge",
    help: "Keys under which a process is at work, on any instance.",
    labels: ["process"],
  },
  lanesSetAside: {
    name: "countersign_lanes_set_aside",
    kind: "gauge",
    help: "Keys under which a process waits until the installation, a workspace, an identity or a domain changes.",
    labels: ["process"],
  },
  parked: {
    name: "countersign_parked",
    kind: "gauge",
    help: "Events and timers that a process gave up on and parked.",
    labels: ["process"],
  },
  draftsSending: {
    name: "countersign_drafts_sending",
    kind: "gauge",
    help: "Drafts that are queued or being sent.",
    labels: [],
  },
  draftsPending: {
    name: "countersign_drafts_pending",
    kind: "gauge",
    help: "Drafts that wait for a decision, of all workspaces.",
    labels: [],
  },
  oldestPendingSeconds: {
    name: "countersign_drafts_oldest_pending_seconds",
    kind: "gauge",
    help: "How long the draft has waited that waits longest for a decision, in seconds; 0 if none waits.",
    labels: [],
  },
  webhookDeliveriesPending: {
    name: "countersign_webhook_deliveries_pending",
    kind: "gauge",
    help: "Webhook deliveries that are still pending.",
    labels: [],
  },
  paused: {
    name: "countersign_paused",
    kind: "gauge",
    help: "1 while the operator has paused the installation and nothing leaves, otherwise 0.",
    labels: [],
  },
} as const satisfies Record<string, Measure>;
