import { createTally } from "#src/platform/tally.ts";
import { Rejected } from "#streams/decider.ts";

/** The key and workspace that a body counts for. Without a key: the IP address, and one workspace shared by all such requests. */
export type UploadSender = { key: string; workspace: string };

/** Memory reserved for one request's body. */
export type Upload = {
  /** Reserves this many more bytes; throws unavailable if there is no room, and after `giveBack`. */
  take(bytes: number): void;
  /** Frees everything, when the request is over or its body is not kept. Repeated calls have no effect. */
  giveBack(): void;
};

/**
 * Limits the bytes of request bodies in memory on this instance. Received bytes count, not announced ones. Small bodies have a separate
 * budget, so that large ones never block a decision or a change of settings; of each budget a workspace may use a half and a key a quarter.
 */
export type Uploads = {
  /** Begins a request of this sender. `announced`: the Content-Length; 0 if it has none. */
  begin(sender: UploadSender, announced?: number): Upload;
};

/** Limits on one resource: in total, per workspace and per key. */
export type UploadBounds = { inAll: number; perWorkspace: number; perKey: number };

const megabyte = 1024 * 1024;
/** Largest size of a small body, in bytes. */
export const smallBody = 256 * 1024;

/** A workspace may use half and a key a quarter, so that others always have room. */
const shared = (inAll: number): UploadBounds => ({ inAll, perWorkspace: inAll / 2, perKey: inAll / 4 });

/** Room for four bodies of the largest size. */
const usualLarge = shared(144 * megabyte);
const usualSmall = shared(32 * megabyte);
const usualNumber = shared(2_000);
/** Seconds after which a client should retry. */
const retryAfter = 5;

/** `large` and `small` in bytes; `number`: count of small bodies. */
export function createUploads({ large = usualLarge, small = usualSmall, number = usualNumber } = {}): Uploads {
  const held = {
    large: createHeld(large, "too many large requests are being sent at the moment"),
    small: createHeld(small, "too many requests are being sent at the moment"),
    number: createHeld(number, "too many requests are being sent at the moment"),
  };

  return {
    begin(sender, announced = 0) {
      let taken = 0;
      let isLarge = announced > smallBody;
      let over = false;

      /** Moves an upload to the large budget: its length was not announced and it turned out to be large. */
      function move(bytes: number): void {
        held.large.take(sender, taken + bytes);
        leaveSmall();
        isLarge = true;
      }

      function takeSmall(bytes: number): void {
        if (taken === 0) held.number.take(sender, 1);
        try {
          held.small.take(sender, bytes);
        } catch (error) {
          if (taken === 0) held.number.giveBack(sender, 1);
          throw error;
        }
      }

      function leaveSmall(): void {
        if (taken === 0) return;
        held.small.giveBack(sender, taken);
        held.number.giveBack(sender, 1);
      }

      return {
        take(bytes) {
          if (over) throw noRoom("the request is over");
          if (bytes === 0) return;
          if (isLarge) held.large.take(sender, bytes);
          else if (taken + bytes > smallBody) move(bytes);
          else takeSmall(bytes);
          taken += bytes;
        },
        giveBack() {
          over = true;
          if (isLarge) held.large.giveBack(sender, taken);
          else leaveSmall();
          taken = 0;
        },
      };
    },
  };
}

/** Counts one resource in total, per workspace and per key. */
function createHeld({ inAll, perWorkspace, perKey }: UploadBounds, full: string) {
  const held = createTally();
  const countsOf = ({ key, workspace }: UploadSender): [name: string, most: number, why: string][] => [
    [`key ${key}`, perKey, "this API key has too much in requests under way"],
    [`workspace ${workspace}`, perWorkspace, "this workspace has too much in requests under way"],
    ["all", inAll, full],
  ];

  function add(sender: UploadSender, amount: number): void {
    for (const [name] of countsOf(sender)) held.add(name, amount);
  }

  return {
    /** Reserves all of the amount, or throws. */
    take(sender: UploadSender, amount: number): void {
      for (const [name, most, why] of countsOf(sender)) {
        if (held.of(name) + amount > most) throw noRoom(why);
      }
      add(sender, amount);
    },
    giveBack: (sender: UploadSender, amount: number): void => add(sender, -amount),
  };
}

const noRoom = (why: string): Rejected => new Rejected("unavailable", `${why}: retry shortly`, { retryAfter });
