import type { Recorded } from "#streams/event.ts";
import { type Filing, isHeld } from "#streams/filing/decider.ts";
import type { FilingDecision, FilingEvent } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { filingEvents } from "./filingEvents.ts";

/**
 * The filing decision of a held mail, its revision in the filing stream, and the ISO time at which it was held. The Message-IDs that the
 * mail names are omitted, because a release does not need them.
 */
export type HeldMarker = { decision: FilingDecision; revision: number; at: string };

/** The next held mails, in order. `after`: filing number after which they were read. */
export type HeldPage = { markers: HeldMarker[]; after: number };

/** Returns the mails that have been held longest, at most `count`, from the filing stream. Reading starts at the oldest held mail. */
export async function oldestHeld(
  deps: Pick<Dependencies, "store">,
  { identityId, filing }: { identityId: string; filing: Filing },
  count: number,
): Promise<HeldPage> {
  const { held } = filing;
  const markers: HeldMarker[] = [];
  if (held.count === 0) return { markers, after: held.releasedUpTo };
  for await (const events of filingEvents(deps, identityId, held.from)) {
    const next = events.filter(isMarker).filter(({ data }) => data.number > held.releasedUpTo);
    markers.push(...next.map(asMarker));
    if (markers.length >= count) break;
  }
  return { markers: markers.slice(0, count), after: held.releasedUpTo };
}

type FilingDecidedEvent = Recorded<Extract<FilingEvent, { type: "FilingDecided" }>>;

const isMarker = (event: Recorded<FilingEvent>): event is FilingDecidedEvent =>
  event.type === "FilingDecided" && isHeld(event.data);

const asMarker = ({ data, revision, metadata: { at } }: FilingDecidedEvent): HeldMarker => ({
  decision: { ...data, chainIds: [] },
  revision,
  at,
});
