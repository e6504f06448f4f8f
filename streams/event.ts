/** What every stored event has in common. The shapes in this folder are the stored contract: a shape that changes is a new version (upcast.ts). */

/** Who caused an event: the kind says how sure we are, the id names it within that kind. */
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
  /** Of a person who is signed in: their address at that time. */
  email?: string;
  /** The channel a decision came through, if any. */
  channel?: string;
  ip?: string;
  userAgent?: string;
  requestId?: string;
};

/** Facts about an event that are not the event: who, when, why. Times are ISO 8601 UTC. */
export type Metadata = {
  workspaceId: string | null;
  actor: Actor;
  /** One id for everything a request or an inbound mail set in motion. */
  correlationId: string;
  /** The id of the event (or request) this one follows from. */
  causationId: string;
  at: string;
  /** `<operation>/<command>`, if a request under an Idempotency-Key caused it: its repetition recognises its own effect. */
  operation?: string;
  /** How many events of the same append come after this one. Absent on the last, and on one alone. */
  more?: number;
};

/** An event as a decider makes it: what happened, without identity, time or place. `data` is JSON. */
export type Event<Type extends string = string, Data = Record<string, unknown>> = { type: Type; data: Data };

/** An event as the log keeps it. */
export type Recorded<E extends Event = Event> = E & {
  id: string;
  /** `category-id`; the category has no dash. */
  stream: string;
  /** Place in its stream, from 0. */
  revision: number;
  /** Place in the whole log: strictly rising, not gapless. */
  position: number;
  schemaVersion: number;
  metadata: Metadata;
};

export const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf("-"));
export const idOf = (stream: string): string => stream.slice(stream.indexOf("-") + 1);
