import type { Process } from "#src/processes/process.ts";
import type { LaneId } from "./lanes.ts";

/** Room for lanes of one process: `share` of them at most for one workspace, with those that it has at work already. What is no workspace's may have all. */
export type Room = {
  process: string;
  lanes: number;
  share: number;
  atWork: Readonly<Record<string, number>>;
};

/** A lane that has a place, or is to have one, and whose it is. */
export type Placed = LaneId & { workspace: string };

/** Of the room of a process, one workspace gets at most this part. */
const shareOf = (places: number): number => Math.ceil(places * 0.75);

/** What is left for a process beside the lanes that have a place. `places`: as many as it has, unless it says otherwise. */
export function roomWith({ name, concurrency }: Process, places: number, placed: readonly Placed[]): Room {
  const own = concurrency ?? places;
  const atWork: Record<string, number> = {};
  for (const { workspace } of placed) atWork[workspace] = (atWork[workspace] ?? 0) + 1;
  return { process: name, lanes: own - placed.length, share: shareOf(own), atWork };
}

/** Whether lanes may be waiting because there was no room for them: otherwise all that were ready are at work. */
export const isCrowded = ({ share, atWork }: Room): boolean =>
  Object.values(atWork).reduce((all, count) => all + count, 0) >= share;
