/** Common parts of every stored event. The shapes in this folder are the stored contract: a changed shape is a new version (upcast.ts). */

/** Cause of an event: `kind` says how reliably the actor is known, `id` names it within that kind. */
export type Actor = {
  kind:
    | "api_key"
    | "telegram"
    | "slack"
    | "email_link"
    | "session"
    | "rule"
    | "auto"
    | "system"
    | "operator"
    | "sender";
  id: string;
  name?: string;
  /** Email address of a signed-in person at that time. */
  email?: string;
  /** The channel a decision came through, if any. */
  channel?: string;
  ip?: string;
  userAgent?: string;
  requestId?: string;
};

/** Facts about an event: who, when, why. Times are ISO 8601 UTC. */
export type Metadata = {
  workspaceId: string | null;
  actor: Actor;
  /** Id shared by all events that one request or inbound mail caused. */
  correlationId: string;
  /** The id of the event (or request) this one follows from. */
  causationId: string;
  at: string;
  /** `<operation>/<command>`, if a request under an Idempotency-Key caused it: its repetition recognises its own effect. */
  operation?: string;
  /** Number of events of the same append that follow this one. Absent on the last event of an append. */
  more?: number;
};

/** An event as returned by a decider, without id, position or time. `data` is JSON. */
export type Event<Type extends string = string, Data = Record<string, unknown>> = { type: Type; data: Data };

/** An event as stored in the log. */
export type Recorded<E extends Event = Event> = E & {
  id: string;
  /** `category-id`; the category has no dash. */
  stream: string;
  /** Position in its stream, from 0. */
  revision: number;
  /** Position in the whole log: strictly increasing, with gaps. */
  position: number;
  schemaVersion: number;
  metadata: Metadata;
  /** The event as the log holds it, if it was brought to a newer version since (upcast.ts). */
  stored?: { type: string; schemaVersion: number; data: Record<string, unknown> };
};

export const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf("-"));
export const idOf = (stream: string): string => stream.slice(stream.indexOf("-") + 1);
