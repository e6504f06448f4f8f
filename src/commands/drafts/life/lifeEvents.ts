import type { DeliveryEvent } from "#streams/delivery/events.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Actor, Recorded } from "#streams/event.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";

/** What a draft's history is made of: its own events, the claims to send it, and what became of each attempt. */
export type HistoryEvent =
  | DraftEvent
  | DeliveryEvent
  | Extract<ThreadEvent, { type: "SendClaimed" | "SendClaimReleased" }>;

/** What no history shows: what a token could be tried against, where blobs are stored, what fences workers. */
type Hidden = "tokens" | "tokenSha256" | "confirmCode" | "listSha256" | "contentBlob" | "fence" | "instanceId";

/** `content`: of the events that bring one; null where it was not looked up. */
type Shown<Data> = Omit<Data, Hidden> &
  (Data extends { content: unknown } ? { content: DraftContent | null } : unknown);

/** An event of a draft's life as its history shows it. `at`: an ISO time. */
export type LifeEvent = {
  [Type in HistoryEvent["type"]]: {
    type: Type;
    data: Shown<Extract<HistoryEvent, { type: Type }>["data"]>;
    at: string;
    actor: Actor;
    position: number;
  };
}[HistoryEvent["type"]];

/** `content`: what the event brings, where it lies in the blob store. */
export const lifeEvent = ({ type, data, metadata, position }: Recorded, content?: DraftContent): LifeEvent =>
  ({
    type,
    data: content === undefined ? data : { ...data, content },
    at: metadata.at,
    actor: metadata.actor,
    position,
  }) as LifeEvent;
