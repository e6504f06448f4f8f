import type { Logger } from "pino";
import { repeatedly } from "#src/platform/clock.ts";

const megabyte = 1_000_000;

/** Bytes of unanswered mail that a workspace holds. */
export type UnansweredMail = { workspace_id: string; bytes: number };

/** Maximum unanswered mail in MB: of one workspace, and of all workspaces together. */
export type MailRoomLimits = { workspaceMb: number; allMb: number };

/** Says which workspaces have room for more mail from unauthenticated senders. */
export type RoomForMail = {
  isFull(workspaceId: string): boolean;
  /** Sentence naming the workspaces without room; undefined if all have room. */
  trouble(): string | undefined;
  close(): void;
};

/**
 * Returns the workspaces that accept no more mail, with the MB each holds: those above their own limit and, while the total is above its
 * limit, those above their fair share. So a workspace that holds little is never refused because of others.
 */
export function workspacesWithoutRoom(
  held: readonly UnansweredMail[],
  { workspaceMb, allMb }: MailRoomLimits,
): Map<string, number> {
  const share = fairShare(
    held.map(({ bytes }) => bytes),
    allMb * megabyte,
  );
  const most = Math.min(workspaceMb * megabyte, share);
  const full = held.filter(({ bytes }) => bytes > most);
  return new Map(full.map(({ workspace_id, bytes }) => [workspace_id, Math.ceil(bytes / megabyte)]));
}

/**
 * Returns the maximum that each holder may occupy if `limit` is shared: the part that small holders do not use is divided among the others.
 */
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

/** Polls how much mail is held. While that fails, the last result applies. */
export async function watchRoomForMail(
  heldNow: () => Promise<readonly UnansweredMail[]>,
  limits: MailRoomLimits,
  { log, everyMs = 15_000 }: { log: Pick<Logger, "warn" | "info">; everyMs?: number },
): Promise<RoomForMail> {
  let full: ReadonlyMap<string, number> = new Map();

  async function look(): Promise<void> {
    const former = full;
    full = workspacesWithoutRoom(await heldNow(), limits);
    for (const [workspace_id, mb] of full)
      if (!former.has(workspace_id))
        log.warn({ workspace_id, mb }, "a workspace receives no mail: it holds too much unanswered mail");
    for (const workspace_id of former.keys())
      if (!full.has(workspace_id)) log.info({ workspace_id }, "a workspace receives mail again");
  }

  const close = await repeatedly(look, everyMs);
  return {
    isFull: (workspaceId) => full.has(workspaceId),
    trouble: () =>
      full.size === 0
        ? undefined
        : `no mail is received for workspaces that hold too much unanswered mail (SMTP_IN_UNANSWERED_MB): ${[...full].map(([id, mb]) => `${id} (${mb} MB)`).join(", ")}`,
    close,
  };
}
