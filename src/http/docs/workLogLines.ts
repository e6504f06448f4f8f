import type { LogLine } from "./logLines.ts";

/** Trouble with what processes have to do. */
export const workLogLines: readonly LogLine[] = [
  {
    level: "error",
    says: "gave up and parked the item",
    todo: "A process could not handle an event. Look at it with `npm run processes -- parked`, cure the cause, then `npm run processes -- retry ID`.",
  },
  {
    level: "error",
    says: "the process's last resort failed",
    todo: "What a process does when it gives up on an event failed too. The event is parked like any other, and the draft it is about may still wait as `sending`. Retry it once the cause is cured.",
  },
  {
    level: "error",
    says: "a lane could not be worked on",
    todo: "What a process had to do waits until its claim runs out, and is tried again. If the line comes again, report `err`.",
  },
  {
    level: "warn",
    says: "process failed, retrying",
    todo: "Nothing yet. After five failures that are not the infrastructure's it is parked.",
  },
  {
    level: "warn",
    says: "cannot give up on the item yet, retrying",
    todo: "A process has failed too often on an event, and what it does then needs something that is away or did not end in its time. It is tried again for as long as that takes, and holds up nothing else. `err` says what it waits for.",
  },
];
