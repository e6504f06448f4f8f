/** How far a process has read the log, and how far it has handled it. */
export type Progress = {
  /** An event is taken from the log; positions rise. */
  take(position: number): void;
  /** The log was looked through up to here; what there was to take has been taken. */
  readUpTo(position: number): void;
  handled(position: number): void;
  read(): number;
  /** Everything up to here is handled. A position the log itself gave: others mean nothing to an event store. */
  checkpoint(): number;
};

export function createProgress(start: number): Progress {
  /** What is taken and not handled yet, oldest first, each with the position read just before it. */
  const open = new Map<number, number>();
  let read = start;

  return {
    take(position) {
      open.set(position, read);
      read = position;
    },
    readUpTo(position) {
      read = Math.max(read, position);
    },
    handled: (position) => void open.delete(position),
    read: () => read,
    checkpoint: () => open.values().next().value ?? read,
  };
}
