import type { Process } from "#src/processes/process.ts";
import type { LaneId } from "./lane.ts";

/** How many lanes are at work, by name. */
type AtWork = Readonly<Record<string, number>>;

/** Room for lanes of one process: `share` of them at most for one workspace, with those that it has at work already. What is no workspace's may have all. */
export type Room = {
  process: string;
  lanes: number;
  share: number;
  atWork: AtWork;
  /** The same for one owner, which is named by the keys of the process. */
  owners?: { share: number; atWork: AtWork };
};

/** A lane that has a place, or is to have one, and whose it is. */
export type Placed = LaneId & { workspace: string };

/** Of the room of a process, one workspace gets at most this part. */
const shareOf = (places: number): number => Math.ceil(places * 0.75);

/** What is left for a process beside the lanes that have a place. `places`: as many as it has, unless it says otherwise. */
export function roomWith(
  { name, concurrency, ownerConcurrency }: Process,
  places: number,
  placed: readonly Placed[],
): Room {
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

/** Names with as many lanes at work as they may have. */
export const fullOf = ({ share, atWork }: { share: number; atWork: AtWork }): string[] =>
  Object.keys(atWork).filter((name) => atWork[name]! >= share);

/** Whether lanes may be waiting because there was no room for them: otherwise all that were ready are at work. */
export const isCrowded = ({ share, atWork, owners }: Room): boolean =>
  Object.values(atWork).reduce((all, count) => all + count, 0) >= share ||
  (owners !== undefined && fullOf(owners).length > 0);
