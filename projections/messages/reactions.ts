import type { Recorded } from "#streams/event.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";
import type { ProjectorTx } from "../projection.ts";
import { jsonRows } from "../rows.ts";
import type { MessagesEvent } from "./held.ts";

type ReactionReceived = Extract<ThreadEvent, { type: "ReactionReceived" }>["data"];

/** A reaction as its message shows it. */
export const shownReaction = ({ emoji, from, at }: ReactionReceived) => ({ emoji, from, at });

/** Reactions kept at a message, the newest ones. */
export const mostReactions = 100;

/** Adds reactions to the messages of ours that they are about. */
export function writeReactions(tx: ProjectorTx, events: readonly Recorded<MessagesEvent>[]): void {
  const rows = events
    .filter((event) => event.type === "ReactionReceived")
    .map(({ data }, order) => ({ id: data.messageId, reaction: shownReaction(data), order }));
  if (rows.length === 0) return;
  tx.write(
    `update messages set reactions = (
       select json_agg(one order by n) from (
         select one, n from jsonb_array_elements(messages.reactions::jsonb || r.reactions) with ordinality as every (one, n)
         order by n desc limit ${mostReactions}
       ) newest)
     from (
       select id, jsonb_agg(reaction order by "order") as reactions
       from json_to_recordset($1::json) as given (id uuid, reaction jsonb, "order" int) group by id
     ) r where messages.id = r.id`,
    [jsonRows(rows)],
  );
}
