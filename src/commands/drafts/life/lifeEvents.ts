import type { DeliveryEvent } from "#streams/delivery/events.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Actor, Recorded } from "#streams/event.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";

/** Events of a draft's history: its own, the claims of its sends, and those of each attempt. */
export type HistoryEvent =
  | DraftEvent
  | DeliveryEvent
  | Extract<ThreadEvent, { type: "SendClaimed" | "SendClaimReleased" }>;

/** Fields that no history shows: secrets that a token could be tested against, blob keys, fences of workers. */
type HiddenFields = "tokens" | "tokenSha256" | "confirmCode" | "listSha256" | "contentBlob" | "fence" | "instanceId";

/** Event data as shown. `content`: only in events that have one; null if it was not loaded. */
type ShownData<Data> = Omit<Data, HiddenFields> &
  (Data extends { content: unknown } ? { content: DraftContent | null } : unknown);

/** An event of a draft's life as its history shows it. `at`: ISO time. */
export type LifeEvent = {
  [Type in HistoryEvent["type"]]: {
    type: Type;
    data: ShownData<Extract<HistoryEvent, { type: Type }>["data"]>;
    at: string;
    actor: Actor;
    position: number;
  };
}[HistoryEvent["type"]];

/** Converts a recorded event. `content`: the event's content, if it was stored in the blob store. */
export const toLifeEvent = ({ type, data, metadata, position }: Recorded, content?: DraftContent): LifeEvent =>
  ({
    type,
    data: content === undefined ? data : { ...data, content },
    at: metadata.at,
    actor: metadata.actor,
    position,
  }) as LifeEvent;
