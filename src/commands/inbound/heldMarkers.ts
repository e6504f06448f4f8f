import type { Recorded } from "#streams/event.ts";
import { type Filing, isHeld } from "#streams/filing/decider.ts";
import type { FilingDecision, FilingEvent } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { filingEvents } from "./filingEvents.ts";

/** The filing of a held mail, where it lies in its filing stream, and since when (ISO). What the mail names is left out: its release names nothing. */
export type Marker = { decision: FilingDecision; revision: number; at: string };

/** Markers next in line, and behind which release they were read. */
export type HeldPage = {
  markers: Marker[];
  /** null: an earlier version had left them behind. Then they are to be decided right after `lastNumber`. */
  after: number | null;
  lastNumber: number;
  /** The revision of the filing stream that the line was known at. */
  readAt: number;
};

/** The mails held longest, so many at most, as the filing stream has them. It is read from the end of the line, however many it has. */
export async function oldestHeld(
  deps: Pick<Dependencies, "store">,
  { identityId, filing }: { identityId: string; filing: Filing },
  count: number,
): Promise<HeldPage> {
  const { held } = filing;
  const known = { lastNumber: filing.lastNumber, readAt: filing.revision };
  const markers: Marker[] = [];
  if (held.count === 0) return { markers, after: held.releasedUpTo, ...known };
  for await (const events of filingEvents(deps, identityId, held.from)) {
    const next = events.filter(isMarker).filter(({ data }) => data.number > held.releasedUpTo);
    markers.push(...next.map(asMarker));
    if (markers.length >= count) break;
  }
  if (markers.length > 0) return { markers: markers.slice(0, count), after: held.releasedUpTo, ...known };
  return { markers: await leftBehind(deps, identityId, count), after: null, ...known };
}

/** Earlier versions could release one mail before an older one, in rare races. Only the whole stream tells which. */
async function leftBehind(deps: Pick<Dependencies, "store">, identityId: string, count: number): Promise<Marker[]> {
  const revisions = new Map<number, number>();
  for await (const events of filingEvents(deps, identityId, 0)) {
    for (const event of events) {
      if (event.type === "HeldMailExpired") revisions.delete(event.data.number);
      if (event.type !== "FilingDecided") continue;
      if (event.data.releases !== undefined) revisions.delete(event.data.releases);
      else if (isHeld(event.data)) revisions.set(event.data.number, event.revision);
    }
  }
  const oldest = new Set([...revisions.values()].slice(0, count));
  const markers: Marker[] = [];
  const [first] = oldest;
  if (first === undefined) return markers;
  for await (const events of filingEvents(deps, identityId, first)) {
    markers.push(
      ...events
        .filter(isMarker)
        .filter(({ revision }) => oldest.has(revision))
        .map(asMarker),
    );
    if (markers.length === oldest.size) break;
  }
  return markers;
}

type Decided = Recorded<Extract<FilingEvent, { type: "FilingDecided" }>>;

const isMarker = (event: Recorded<FilingEvent>): event is Decided =>
  event.type === "FilingDecided" && isHeld(event.data);

const asMarker = ({ data, revision, metadata: { at } }: Decided): Marker => ({
  decision: { ...data, chainIds: [] },
  revision,
  at,
});
