import type { Logger } from "pino";
import { repeatedly } from "#src/platform/clock.ts";

const megabyte = 1_000_000;

/** How many bytes of unanswered mail a workspace holds. */
export type UnansweredMail = { workspace_id: string; bytes: number };

/** How much unanswered mail one workspace, and all of them together, may hold, in MB. */
export type RoomLimits = { workspaceMb: number; allMb: number };

/** Tells which workspaces have room for more mail from strangers. */
export type RoomForMail = {
  isFull(workspaceId: string): boolean;
  /** The workspaces without room, in words; undefined if there is none. */
  trouble(): string | undefined;
  close(): void;
};

/**
 * The workspaces that take no more mail, and how many MB each holds: those above their own limit, and, while all together are above theirs, those
 * above their share of it. So who holds little is never refused for what others hold.
 */
export function withoutRoom(held: readonly UnansweredMail[], { workspaceMb, allMb }: RoomLimits): Map<string, number> {
  const share = fairShare(
    held.map(({ bytes }) => bytes),
    allMb * megabyte,
  );
  const most = Math.min(workspaceMb * megabyte, share);
  const full = held.filter(({ bytes }) => bytes > most);
  return new Map(full.map(({ workspace_id, bytes }) => [workspace_id, Math.ceil(bytes / megabyte)]));
}

/** The most that each may hold where all may hold `limit`: what those below it leave is shared by the others, so many small ones take little from them. */
function fairShare(held: readonly number[], limit: number): number {
  const ascending = held.toSorted((one, other) => one - other);
  let left = limit;
  for (const [index, bytes] of ascending.entries()) {
    const share = left / (ascending.length - index);
    if (bytes > share) return share;
    left -= bytes;
  }
  return Number.POSITIVE_INFINITY;
}

/** Asks again and again what is held. While that cannot be found out, what was true last holds. */
export async function watchRoomForMail(
  heldNow: () => Promise<readonly UnansweredMail[]>,
  limits: RoomLimits,
  { log, everyMs = 15_000 }: { log: Pick<Logger, "warn" | "info">; everyMs?: number },
): Promise<RoomForMail> {
  let full: ReadonlyMap<string, number> = new Map();

  async function look(): Promise<void> {
    const former = full;
    full = withoutRoom(await heldNow(), limits);
    for (const [workspace_id, mb] of full)
      if (!former.has(workspace_id))
        log.warn({ workspace_id, mb }, "a workspace takes no mail: it holds too much unanswered mail");
    for (const workspace_id of former.keys())
      if (!full.has(workspace_id)) log.info({ workspace_id }, "a workspace takes mail again");
  }

  const close = await repeatedly(look, everyMs);
  return {
    isFull: (workspaceId) => full.has(workspaceId),
    trouble: () =>
      full.size === 0
        ? undefined
        : `no mail is taken for workspaces that hold too much unanswered mail (SMTP_IN_UNANSWERED_MB): ${[...full].map(([id, mb]) => `${id} (${mb} MB)`).join(", ")}`,
    close,
  };
}
