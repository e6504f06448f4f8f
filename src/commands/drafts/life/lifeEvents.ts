import type { DeliveryEvent } from "#streams/delivery/events.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Actor, Recorded } from "#streams/event.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";

/** Events of a draft's history: the draft's own events, the claims of its sends, and the events of each delivery attempt. */
export type HistoryEvent =
  | DraftEvent
  | DeliveryEvent
  | Extract<ThreadEvent, { type: "SendClaimed" | "SendClaimReleased" }>;

/** Fields that no history shows: secrets with which a guessed token could be tested, blob keys, text kept for search, fences of workers. */
type HiddenFields =
  | "tokens"
  | "tokenSha256"
  | "confirmCode"
  | "listSha256"
  | "contentBlob"
  | "searchText"
  | "fence"
  | "instanceId";

/** Event data as shown in a history. `content`: present for events that have a content; null if the content was not loaded. */
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

/** Converts a recorded event to its form in a history. `content`: the event's content, if that is in the blob store. */
export const toLifeEvent = ({ type, data, metadata, position }: Recorded, content?: DraftContent): LifeEvent =>
  ({
    type,
    data: content === undefined ? data : { ...data, content },
    at: metadata.at,
    actor: metadata.actor,
    position,
  }) as LifeEvent;
