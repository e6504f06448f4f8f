import { isUnreadable } from "#src/eventStore/eventStore.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import type { Listeners, Process } from "#src/processes/process.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import { workspaceOf } from "./keys.ts";

/** Where it is not known who listens. */
export const anyListeners: Listeners = { rules: true, webhooks: true, furtherChannels: true };

/** Reads the log like a process, for the planner itself: how far the listeners are known is stored like how far a process is planned. */
export const listenersReader: Process = {
  name: "listeners",
  categories: ["rule", "webhook", "identity"],
  keyOf: ({ stream }) => stream,
  on: {},
};

const ended = ["RuleDeleted", "WebhookDeleted"];

/** Whether an event is the beginning of something that listens. One that cannot be read, or has not what it should have, may be. */
function begins(event: Recorded): boolean {
  const { stream, type, data } = event;
  if (type === "RuleCreated" || type === "WebhookCreated") return true;
  if (categoryOf(stream) !== "identity") return false;
  if (isUnreadable(event)) return true;
  try {
    if (type === "IdentityCreated") return asksFurther(data);
    return type === "IdentityUpdated" && asksFurther(data.changes as Partial<IdentitySettings>);
  } catch {
    return true;
  }
}

const asksFurther = ({ approvalChannel, secondaryApprovalChannel }: Partial<IdentitySettings>): boolean =>
  Boolean(secondaryApprovalChannel) || (Boolean(approvalChannel) && approvalChannel?.type !== "email");

/**
 * Which workspaces have rules and webhooks, and which have had identities that ask in more than one mailbox, at one place of the log. What was
 * asked in a chat or of a second approver stays when the channel is gone.
 */
export type KnownListeners = {
  /** Goes on by one event. */
  follow(event: Recorded): void;
  /** Who may listen to this event, if it comes next. */
  to(event: Recorded): Listeners;
  /** What has changed since it was asked last: streams that have begun, with their workspaces, and that have ended. */
  changes(): ListenerChanges;
};

export type ListenerChanges = { began: ReadonlyMap<string, string>; ended: readonly string[] };

/** As they are stored: at the reader's position. */
export async function loadListeners(sql: Sql): Promise<KnownListeners> {
  const { rows } = await sql.query<{ stream: string; workspace: string }>(
    "select stream, workspace from work.listeners",
  );
  const workspaces = new Map(rows.map(({ stream, workspace }) => [stream, workspace]));
  /** How many of each, by category and workspace. */
  const counts = new Map<string, number>();
  const count = (stream: string, workspace: string, more: 1 | -1): void => {
    const name = nameOf(categoryOf(stream), workspace);
    counts.set(name, (counts.get(name) ?? 0) + more);
  };
  for (const [stream, workspace] of workspaces) count(stream, workspace, 1);
  const changed = new Set<string>();

  return {
    follow(event) {
      const { stream, type } = event;
      const workspaceId = workspaceOf(event);
      const known = workspaces.get(stream);
      if (known === undefined && workspaceId !== "" && begins(event)) {
        workspaces.set(stream, workspaceId);
        count(stream, workspaceId, 1);
        changed.add(stream);
      }
      if (ended.includes(type) && known !== undefined) {
        workspaces.delete(stream);
        count(stream, known, -1);
        changed.add(stream);
      }
    },
    to(event) {
      const workspaceId = workspaceOf(event);
      if (workspaceId === "") return anyListeners;
      const has = (category: string) => (counts.get(nameOf(category, workspaceId)) ?? 0) > 0;
      return { rules: has("rule"), webhooks: has("webhook"), furtherChannels: has("identity") };
    },
    changes() {
      const streams = [...changed];
      changed.clear();
      return {
        began: new Map(
          streams.flatMap((stream) => (workspaces.has(stream) ? [[stream, workspaces.get(stream)!]] : [])),
        ),
        ended: streams.filter((stream) => !workspaces.has(stream)),
      };
    },
  };
}

const nameOf = (category: string, workspace: string): string => `${category} ${workspace}`;

/** Stores changes, in the transaction that moves the reader on. */
export async function storeListeners(tx: Sql, { began, ended }: ListenerChanges): Promise<void> {
  await tx.query("delete from work.listeners where stream = any($1)", [ended]);
  await tx.query(
    "insert into work.listeners (stream, workspace) select * from unnest($1::text[], $2::text[]) on conflict do nothing",
    [[...began.keys()], [...began.values()]],
  );
}
