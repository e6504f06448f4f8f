import { createTally } from "#src/platform/tally.ts";

/** Bytes held at this moment, per holder and in total. */
export type HeldBytes = {
  /** Counts `bytes` more for the holder. If a limit forbids that, counts nothing and returns the limit's name. */
  take(holder: string | undefined, bytes: number): "taken" | "no_room" | "no_room_for_holder";
  giveBack(holder: string | undefined, bytes: number): void;
};

/** A holder without a name is limited by the total alone. */
export function createHeldBytes({ inAll, ofHolder }: { inAll: number; ofHolder: number }): HeldBytes {
  const held = createTally();
  let all = 0;

  function add(holder: string | undefined, bytes: number): void {
    all += bytes;
    if (holder !== undefined) held.add(holder, bytes);
  }

  return {
    take(holder, bytes) {
      if (holder !== undefined && held.of(holder) + bytes > ofHolder) return "no_room_for_holder";
      if (all + bytes > inAll) return "no_room";
      add(holder, bytes);
      return "taken";
    },
    giveBack: (holder, bytes) => add(holder, -bytes),
  };
}
