import type { Recorded } from "#streams/event.ts";
import { type Filing, isHeld } from "#streams/filing/decider.ts";
import type { FilingDecision, FilingEvent } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { filingEvents } from "./filingEvents.ts";

/** The filing of a held mail, where it lies in its filing stream, and since when (ISO). What the mail names is left out: its release names nothing. */
export type Marker = { decision: FilingDecision; revision: number; at: string };

/** Markers next in line, and behind which release they were read. */
export type HeldPage = { markers: Marker[]; after: number };

/** The mails held longest, so many at most, as the filing stream has them. It is read from the end of the line, however many it has. */
export async function oldestHeld(
  deps: Pick<Dependencies, "store">,
  { identityId, filing }: { identityId: string; filing: Filing },
  count: number,
): Promise<HeldPage> {
  const { held } = filing;
  const markers: Marker[] = [];
  if (held.count === 0) return { markers, after: held.releasedUpTo };
  for await (const events of filingEvents(deps, identityId, held.from)) {
    const next = events.filter(isMarker).filter(({ data }) => data.number > held.releasedUpTo);
    markers.push(...next.map(asMarker));
    if (markers.length >= count) break;
  }
  return { markers: markers.slice(0, count), after: held.releasedUpTo };
}

type Decided = Recorded<Extract<FilingEvent, { type: "FilingDecided" }>>;

const isMarker = (event: Recorded<FilingEvent>): event is Decided =>
  event.type === "FilingDecided" && isHeld(event.data);

const asMarker = ({ data, revision, metadata: { at } }: Decided): Marker => ({
  decision: { ...data, chainIds: [] },
  revision,
  at,
});
