import type { Static } from "typebox";
import { loadContent } from "#src/commands/drafts/draftContents.ts";
import type { Blobs } from "#src/platform/blobs/blobs.ts";
import type { StoredContent } from "#streams/draft/events.ts";
import type { Actor, Recorded } from "#streams/event.ts";
import type { HistoryEntry } from "../schemas/histories.ts";

export type WireHistoryEntry = Static<typeof HistoryEntry>;

/** Fields that are not shown: token hashes, blob locations, text kept for search, fences between workers, and internal planning. */
const internal = [
  "tokens",
  "tokenSha256",
  "confirmCode",
  "listSha256",
  "content",
  "contentBlob",
  "searchText",
  "fence",
  "instanceId",
];
/** Free-form JSON of callers, whose field names are not converted. */
const verbatim = ["metadata"];
/** Types of events that contain a draft's content. Other events refer to the content by version and hash. */
const bringsContent = ["DraftSubmitted", "DraftEdited"];

/** Converts an event of a draft to the contract's form. */
export async function presentHistoryEntry(blobs: Blobs, event: Recorded): Promise<WireHistoryEntry> {
  const data = shown(event.data);
  if (bringsContent.includes(event.type)) {
    data.content = await loadContent(blobs, event.data as StoredContent);
  }
  return {
    id: event.id,
    type: event.type,
    at: event.metadata.at,
    actor: presentActor(event.metadata.actor),
    data,
    revision: event.revision,
    position: event.position,
    caused_by: event.metadata.causationId,
  };
}

function presentActor(actor: Actor): WireHistoryEntry["actor"] {
  const { userAgent, requestId, ...rest } = actor;
  return {
    ...rest,
    ...(userAgent === undefined ? {} : { user_agent: userAgent }),
    ...(requestId === undefined ? {} : { request_id: requestId }),
  };
}

function shown(data: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(data).filter(([name]) => !internal.includes(name));
  return Object.fromEntries(
    entries.map(([name, value]) => [snakeCase(name), verbatim.includes(name) ? value : inWireNames(value)]),
  );
}

function inWireNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inWireNames);
  return typeof value === "object" && value !== null ? shown(value as Record<string, unknown>) : value;
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
