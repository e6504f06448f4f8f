import { createTally } from "#src/platform/tally.ts";

/** A part of this process's memory, for work on things that anybody may make large. */
export type Room = {
  /**
   * Does the work once the bytes fit beside those of the work under way, in order; more than there is, when nothing else is. `share`: whose
   * they are, if that matters. One of them takes half of the room at most (more only alone), and who holds least comes first: who fills the
   * room goes behind those who hold nothing, however much of theirs waits.
   */
  take<T>(bytes: number, work: () => Promise<T>, share?: string): Promise<T>;
  /** The same at once; undefined if it would have to wait. */
  takeNow<T>(bytes: number, work: () => Promise<T>, share?: string): Promise<T> | undefined;
};

type Taken = { bytes: number; share: string | undefined };
type Waiting = Taken & { begin(): void };

export function createRoom(totalBytes: number): Room {
  const waiting: Waiting[] = [];
  const usedBy = createTally();
  let used = 0;

  const ownOf = ({ share }: Taken): number => (share === undefined ? 0 : usedBy.of(share));

  function hasShare(taken: Taken): boolean {
    const { bytes, share } = taken;
    if (share === undefined) return true;
    const own = ownOf(taken);
    return own === 0 || own + bytes <= totalBytes / 2;
  }

  const fits = ({ bytes }: Taken): boolean => used === 0 || used + bytes <= totalBytes;

  /** The longest waiting of those who hold least. */
  function nextIn(): Waiting | undefined {
    let next: Waiting | undefined;
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

  function use({ share }: Taken, bytes: number): void {
    used += bytes;
    if (share !== undefined) usedBy.add(share, bytes);
  }

  async function giveBack<T>(taken: Taken, work: () => Promise<T>): Promise<T> {
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
