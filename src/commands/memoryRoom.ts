import { createTally } from "#src/platform/tally.ts";

/** Limits how much data of users this process works on concurrently. */
export type MemoryRoom = {
  /**
   * Runs `work` once `bytes` fit into the room in addition to the running work, in order. Work larger than the room runs alone. `share`:
   * owner of the work, if any. An owner uses at most half of the room unless no other work runs, and the waiting owner that uses least is
   * next, so that one owner cannot delay the others.
   */
  take<T>(bytes: number, work: () => Promise<T>, share?: string): Promise<T>;
  /** Like take, but returns undefined if the work would have to wait. */
  takeNow<T>(bytes: number, work: () => Promise<T>, share?: string): Promise<T> | undefined;
};

type RoomUse = { bytes: number; share: string | undefined };
type WaitingWork = RoomUse & { begin(): void };

export function createMemoryRoom(totalBytes: number): MemoryRoom {
  const waiting: WaitingWork[] = [];
  const usedBy = createTally();
  let used = 0;

  const ownOf = ({ share }: RoomUse): number => (share === undefined ? 0 : usedBy.of(share));

  function hasShare(taken: RoomUse): boolean {
    const { bytes, share } = taken;
    if (share === undefined) return true;
    const own = ownOf(taken);
    return own === 0 || own + bytes <= totalBytes / 2;
  }

  const fits = ({ bytes }: RoomUse): boolean => used === 0 || used + bytes <= totalBytes;

  /** Returns the longest waiting work of the owner that uses least room. */
  function nextIn(): WaitingWork | undefined {
    let next: WaitingWork | undefined;
    for (const each of waiting) if (hasShare(each) && (!next || ownOf(each) < ownOf(next))) next = each;
    return next;
  }

  function letIn(): void {
    for (;;) {
      const next = nextIn();
      if (!next || !fits(next)) return;
      waiting.splice(waiting.indexOf(next), 1);
      use(next, next.bytes);
      next.begin();
    }
  }

  function use({ share }: RoomUse, bytes: number): void {
    used += bytes;
    if (share !== undefined) usedBy.add(share, bytes);
  }

  async function giveBack<T>(taken: RoomUse, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      use(taken, -taken.bytes);
      letIn();
    }
  }

  return {
    async take(bytes, work, share) {
      const taken = { bytes, share };
      await new Promise<void>((begin) => {
        waiting.push({ ...taken, begin });
        letIn();
      });
      return giveBack(taken, work);
    },
    takeNow(bytes, work, share) {
      const taken = { bytes, share };
      if (waiting.length > 0 || !hasShare(taken) || !fits(taken)) return undefined;
      use(taken, bytes);
      return giveBack(taken, work);
    },
  };
}
