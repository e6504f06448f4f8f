import { createTally } from "#src/platform/tally.ts";
import { Rejected } from "#streams/decider.ts";

/** Whose body it is. Of a request without a key: its address, and one workspace for all such requests. */
export type Sender = { key: string; workspace: string };

/** The room that one request's body takes up. */
export type Upload = {
  /** Takes up so many bytes more; throws unavailable where there is no room for them, and after `giveBack`. */
  take(bytes: number): void;
  /** Everything, once the request is over or its body is not kept. What is given back twice counts once. */
  giveBack(): void;
};

/**
 * Bytes of bodies that this instance holds at once. What counts is what has come, not what was announced. Small bodies have a room of their
 * own, so that large ones never keep a decision or a setting from arriving; of either room a workspace gets a half, and a key a quarter.
 */
export type Uploads = {
  /** A request of this sender begins. `announced`: the Content-Length; 0 if it has none. */
  begin(sender: Sender, announced?: number): Upload;
};

/** How much of something is held at once, at most. */
export type Bounds = { inAll: number; perWorkspace: number; perKey: number };

const megabyte = 1024 * 1024;
/** Bytes of the largest body that counts as small. */
export const smallBody = 256 * 1024;

/** A half and a quarter: one workspace leaves room to the others, and one key to the other keys of its workspace. */
const shared = (inAll: number): Bounds => ({ inAll, perWorkspace: inAll / 2, perKey: inAll / 4 });

/** Four bodies of the largest size. */
const usualLarge = shared(144 * megabyte);
const usualSmall = shared(32 * megabyte);
const usualNumber = shared(2_000);
/** Seconds after which there may be room again. */
const retryAfter = 5;

/** `large` and `small` in bytes; `number`: how many small bodies. */
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

      /** A body that was not announced turns out to be large: all of it moves. */
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

/** Counts one thing for all, for each workspace and for each key. */
function createHeld({ inAll, perWorkspace, perKey }: Bounds, full: string) {
  const held = createTally();
  const countsOf = ({ key, workspace }: Sender): [name: string, most: number, why: string][] => [
    [`key ${key}`, perKey, "this API key is sending too much at once"],
    [`workspace ${workspace}`, perWorkspace, "this workspace is sending too much at once"],
    ["all", inAll, full],
  ];

  function add(sender: Sender, amount: number): void {
    for (const [name] of countsOf(sender)) held.add(name, amount);
  }

  return {
    /** All of it, or it throws. */
    take(sender: Sender, amount: number): void {
      for (const [name, most, why] of countsOf(sender)) {
        if (held.of(name) + amount > most) throw noRoom(why);
      }
      add(sender, amount);
    },
    giveBack: (sender: Sender, amount: number): void => add(sender, -amount),
  };
}

const noRoom = (why: string): Rejected => new Rejected("unavailable", `${why}: retry shortly`, { retryAfter });
