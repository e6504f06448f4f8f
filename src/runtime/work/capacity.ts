import type { Process } from "#src/processes/process.ts";
import type { LaneId } from "./lane.ts";

/** Numbers of lanes at work, by name. */
type AtWork = Readonly<Record<string, number>>;

/**
 * Free slots for lanes of one process. One workspace may have `share` lanes at most, including those at work. Lanes without a workspace are
 * not limited.
 */
export type Capacity = {
  process: string;
  lanes: number;
  share: number;
  atWork: AtWork;
  /** Limits of one owner, the first word of a key. */
  owners?: { share: number; atWork: AtWork };
};

/** A lane that has, or is to get, a slot, with its workspace. */
export type PlacedLane = LaneId & { workspace: string };

/** Slots of a process that one workspace may have at most. */
const shareOf = (places: number): number => Math.ceil(places * 0.75);

/** Returns the free slots of a process besides its lanes at work. `places`: its slots, unless the process sets its own number. */
export function capacityBesides(
  { name, concurrency, ownerConcurrency }: Process,
  places: number,
  placed: readonly PlacedLane[],
): Capacity {
  const own = concurrency ?? places;
  return {
    ...{ process: name, lanes: own - placed.length, share: shareOf(own) },
    atWork: counted(placed.map(({ workspace }) => workspace)),
    ...(ownerConcurrency && { owners: { share: ownerConcurrency, atWork: counted(placed.map(ownerOf)) } }),
  };
}

/** A key names its owner first, up to a space. */
const ownerOf = ({ key }: LaneId): string => key.split(" ", 1)[0]!;

function counted(names: readonly string[]): AtWork {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Returns the names that are at their limit. */
export const namesAtLimit = ({ share, atWork }: { share: number; atWork: AtWork }): string[] =>
  Object.keys(atWork).filter((name) => atWork[name]! >= share);

/** True if ready lanes may be waiting because a limit was reached. Otherwise all ready lanes are at work. */
export const hasReachedLimit = ({ share, atWork, owners }: Capacity): boolean =>
  Object.values(atWork).reduce((all, count) => all + count, 0) >= share ||
  (owners !== undefined && namesAtLimit(owners).length > 0);
