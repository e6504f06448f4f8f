/** Id of a lane: everything that one process has to do under one key. */
export type LaneId = { process: string; key: string };

/** A lane that this instance has claimed. `claim` is new for every claim: a completion under an older one is refused. */
export type LaneClaim = LaneId & { workspace: string; claim: string; generation: number };
