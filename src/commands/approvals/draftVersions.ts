import { type EventStore, readEvents } from "#src/eventStore/eventStore.ts";
import type { ContentOrigin } from "#streams/draft/content.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import { type DraftEvent, draftStream, type EditReason, type StoredContent } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";

/** One version of a draft, as its event has it. `because`: why it was made; null for the first. */
export type DraftVersion = {
  version: number;
  stored: StoredContent;
  making: ContentOrigin;
  rationale: string | null;
  because: EditReason | null;
};

type Events = readonly Recorded<DraftEvent>[];

/** So many of a draft's newest events are looked at: however often it is edited, its page and its mail are made in the same time. */
const lookedAt = 200;

/** A draft's newest events, oldest first. `isWhole`: there are no others. */
export async function recentEvents(
  store: Pick<EventStore, "read" | "readLast">,
  draftId: string,
): Promise<{ events: Recorded<DraftEvent>[]; isWhole: boolean }> {
  const newest = await store.readLast(draftStream(draftId));
  const from = Math.max(0, (newest?.revision ?? 0) + 1 - lookedAt);
  return { events: await readEvents<DraftEvent>(store, draftStream(draftId), { from }), isWhole: from === 0 };
}

/** An earlier version, from the log, a stretch at a time. Each version has an event of its own, so that none is before its number. */
export async function earlierVersion(
  store: Pick<EventStore, "read">,
  draftId: string,
  version: number,
): Promise<DraftVersion> {
  for (let from = version - 1; ; from += lookedAt) {
    const events = await readEvents<DraftEvent>(store, draftStream(draftId), { from, count: lookedAt });
    const found = versionsIn(events).find((one) => one.version === version);
    if (found || events.length < lookedAt) return found ?? versionOf(events, version);
  }
}

/** Throws if the draft has no such version. */
export function versionOf(events: Events, version: number): DraftVersion {
  const found = versionsIn(events).find((one) => one.version === version);
  if (!found) throw new Error(`${draftDecider.category} ${events[0]?.stream} has no version ${version}`);
  return found;
}

/**
 * The newest version before this one that approvers were really shown (a mail that could not be sent, or came back, showed nothing), and why
 * there were versions since, each reason once. Null if nobody has been asked before, or these events do not
 * have what was asked.
 */
export function askedBefore(events: Events, version: number): { asked: DraftVersion; because: EditReason[] } | null {
  const idsIn = (wanted: "ApproversNotified" | "NotificationFailed") =>
    new Set(events.flatMap(({ type, data }) => (type === wanted ? [data.notificationId] : [])));
  const [notified, failed] = [idsIn("ApproversNotified"), idsIn("NotificationFailed")];
  const isShown = (id: string) => notified.has(id) && !failed.has(id);
  const shown = events.flatMap(({ type, data }) =>
    type === "ApproversAsked" && isShown(data.notificationId) && data.version < version ? [data.version] : [],
  );
  if (shown.length === 0) return null;
  const before = Math.max(...shown);
  const since = versionsIn(events).filter((one) => one.version > before && one.version <= version);
  const because = since.flatMap((one) => (one.because === null ? [] : [one.because]));
  const asked = versionsIn(events).find((one) => one.version === before);
  return asked ? { asked, because: [...new Set(because)] } : null;
}

/** From each of these on, somebody has to decide. */
const asking = ["DraftSubmitted", "DraftEdited", "DraftReturnedToPending"];

/** Since when the draft has waited for a decision, in ms since the epoch; undefined if its events do not tell. */
export function pendingSince(events: Events): number | undefined {
  const since = Date.parse(events.findLast(({ type }) => asking.includes(type))?.metadata.at ?? "");
  return Number.isNaN(since) ? undefined : since;
}

function versionsIn(events: Events): DraftVersion[] {
  return events.flatMap(({ type, data }): DraftVersion[] => {
    if (type !== "DraftSubmitted" && type !== "DraftEdited") return [];
    const version = type === "DraftEdited" ? data.version : 1;
    const because = type === "DraftEdited" ? data.because : null;
    return [{ version, stored: data, making: data, rationale: data.rationale, because }];
  });
}
