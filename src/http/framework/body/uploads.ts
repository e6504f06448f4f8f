import { Rejected } from "#streams/decider.ts";

/** The room that one request's body takes up. */
export type Upload = {
  /** Takes up so many bytes more; throws unavailable where there is no room for them. */
  take(bytes: number): void;
  /** Everything, once the request is over or its body is not kept. */
  giveBack(): void;
};

/** Bytes of bodies that this instance holds at once, for one key and for all. What counts is what has come, not what was announced. */
export type Uploads = {
  /** A request of this key begins. */
  begin(key: string): Upload;
};

const megabyte = 1024 * 1024;
/** Two bodies of the largest size. */
const usualPerKey = 72 * megabyte;
const usualInAll = 144 * megabyte;
/** Seconds after which there may be room again. */
const retryAfter = 5;

export function createUploads({ perKey = usualPerKey, inAll = usualInAll } = {}): Uploads {
  const held = new Map<string, number>();
  let total = 0;

  function add(key: string, bytes: number): void {
    total += bytes;
    const own = (held.get(key) ?? 0) + bytes;
    if (own === 0) held.delete(key);
    else held.set(key, own);
  }

  return {
    begin(key) {
      let taken = 0;
      return {
        take(bytes) {
          if ((held.get(key) ?? 0) + bytes > perKey) throw noRoom("this API key is sending too much at once");
          if (total + bytes > inAll) throw noRoom("too many large requests are being sent at the moment");
          taken += bytes;
          add(key, bytes);
        },
        giveBack() {
          add(key, -taken);
          taken = 0;
        },
      };
    },
  };
}

const noRoom = (why: string): Rejected => new Rejected("unavailable", `${why}: retry shortly`, { retryAfter });
