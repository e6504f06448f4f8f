import type { ApprovalView, VersionReason } from "#src/channels/approvalView.ts";
import { type EventStore, readEvents } from "#src/eventStore/eventStore.ts";
import type { ContentOrigin } from "#streams/draft/content.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import { type DraftEvent, draftStream, type StoredContent } from "#streams/draft/events.ts";
import { reachedLimitIn } from "#streams/draft/warnings.ts";
import type { Recorded } from "#streams/event.ts";

/** One version of a draft, as its event recorded it. `because`: why the version was made; null for the first version. */
export type DraftVersion = {
  version: number;
  stored: StoredContent;
  making: ContentOrigin;
  rationale: string | null;
  because: VersionReason | null;
};

type Events = readonly Recorded<DraftEvent>[];

/** Maximum number of a draft's newest events that are read, so that a draft that was edited very often is still rendered quickly. */
const lookedAt = 200;

/** Returns a draft's newest events, oldest first. `isWhole`: true if these are all of the draft's events. */
export async function recentEvents(
  store: Pick<EventStore, "read" | "readLast">,
  draftId: string,
): Promise<{ events: Recorded<DraftEvent>[]; isWhole: boolean }> {
  const newest = await store.readLast(draftStream(draftId));
  const from = Math.max(0, (newest?.revision ?? 0) + 1 - lookedAt);
  return { events: await readEvents<DraftEvent>(store, draftStream(draftId), { from }), isWhole: from === 0 };
}

/**
 * Reads an earlier version from the log, one page at a time. Reading starts at revision `version` − 1, because each version has its own
 * event.
 */
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

/** Returns a version from events. Throws if there is no such version. */
export function versionOf(events: Events, version: number): DraftVersion {
  const found = versionsIn(events).find((one) => one.version === version);
  if (!found) throw new Error(`${draftDecider.category} ${events[0]?.stream} has no version ${version}`);
  return found;
}

/**
 * Returns the newest earlier version that approvers were shown, and the distinct reasons for the versions made since. A version does not
 * count as shown if its mail could not be sent or bounced. Returns null if no earlier version was shown, or if these events do not include
 * it.
 */
export function lastShownVersion(
  events: Events,
  version: number,
): { asked: DraftVersion; because: VersionReason[] } | null {
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

/** Events after which an approver has to decide. */
const asking = ["DraftSubmitted", "DraftEdited", "DraftReturnedToPending"];

/**
 * Returns the time since which the draft has waited for a decision, in milliseconds since 1970; undefined if the given events do not say.
 */
export function pendingSince(events: Events): number | undefined {
  const since = Date.parse(events.findLast(({ type }) => asking.includes(type))?.metadata.at ?? "");
  return Number.isNaN(since) ? undefined : since;
}

/** Events after which approvers are asked, for any reason. */
const requesting = [...asking, "ChangesRequestWithdrawn", "DraftEscalated", "NotifyRequested", "RequestsRepeated"];

/** Returns why the newest request repeats an expired one; null if it does not. */
export function askedAgain(events: Events): ApprovalView["askedAgain"] {
  const newest = events.findLast(({ type }) => requesting.includes(type));
  const at = newest?.metadata.at ?? "";
  if (newest?.type === "RequestsRepeated") return { by: "service", at };
  const isByHolder = newest?.type === "NotifyRequested" && newest.data.notificationId !== undefined;
  return isByHolder ? { by: "holder", at } : null;
}

/** Returns the limit of answers because of which the newest version came back to pending; null if it did not. */
export function reachedLimit(events: Events): string | null {
  const made = events.findLastIndex(({ type }) => type === "DraftSubmitted" || type === "DraftEdited");
  const limits = events
    .slice(made + 1)
    .flatMap(({ type, data }) => (type === "DraftReturnedToPending" ? (reachedLimitIn(data.because) ?? []) : []));
  return limits.at(-1) ?? null;
}

function versionsIn(events: Events): DraftVersion[] {
  return events.flatMap(({ type, data, metadata }): DraftVersion[] => {
    if (type !== "DraftSubmitted" && type !== "DraftEdited") return [];
    const version = type === "DraftEdited" ? data.version : 1;
    const isPersons = type === "DraftEdited" && data.because === "edit" && metadata.actor.kind !== "api_key";
    const because = type === "DraftEdited" ? (isPersons ? "edited_by_person" : data.because) : null;
    return [{ version, stored: data, making: data, rationale: data.rationale, because }];
  });
}
