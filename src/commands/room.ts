/** A part of this process's memory, for work on things that anybody may make large. */
export type Room = {
  /** Does the work once the bytes fit beside those of the work under way, in order; more than there is, when nothing else is. */
  take<T>(bytes: number, work: () => Promise<T>): Promise<T>;
};

export function createRoom(totalBytes: number): Room {
  const waiting: { bytes: number; begin(): void }[] = [];
  let used = 0;

  function letIn(): void {
    while (waiting[0] && (used === 0 || used + waiting[0].bytes <= totalBytes)) {
      const next = waiting.shift() as (typeof waiting)[number];
      used += next.bytes;
      next.begin();
    }
  }

  return {
    async take(bytes, work) {
      await new Promise<void>((begin) => {
        waiting.push({ bytes, begin });
        letIn();
      });
      try {
        return await work();
      } finally {
        used -= bytes;
        letIn();
      }
    },
  };
}
