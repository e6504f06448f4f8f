import { isUnreadable } from "#src/eventStore/eventStore.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import type { Listeners, Process } from "#src/processes/process.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import { workspaceOf } from "./keys.ts";

/** Listeners of a workspace for which they are not known: any may exist. */
export const unknownListeners: Listeners = { rules: true, webhooks: true, furtherChannels: true };

/** Pseudo-process of the planner. Its planned position says up to where the listeners are known. */
export const listenersReader: Process = {
  name: "listeners",
  categories: ["rule", "webhook", "identity"],
  keyOf: ({ stream }) => stream,
  on: {},
};

const ended = ["RuleDeleted", "WebhookDeleted"];

/** True if an event creates a listener, or may do so because it cannot be read or is malformed. */
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
 * Workspaces that have rules and webhooks, and those that have had identities asking for approval elsewhere than in one mailbox, up to one
 * position of the log. An identity that has asked in a chat or a second approver counts even after the channel is removed.
 */
export type KnownListeners = {
  /** Applies the next event. */
  follow(event: Recorded): void;
  /** Returns the kinds of listeners that may concern this event, if it is the next one. */
  to(event: Recorded): Listeners;
  /** Returns the changes since the last call: streams that began, with their workspaces, and streams that ended. */
  changes(): ListenerChanges;
};

export type ListenerChanges = { began: ReadonlyMap<string, string>; ended: readonly string[] };

/** Loads the listeners as stored, at the position of `listenersReader`. */
export async function loadListeners(sql: Sql): Promise<KnownListeners> {
  const { rows } = await sql.query<{ stream: string; workspace: string }>(
    "select stream, workspace from work.listeners",
  );
  const workspaces = new Map(rows.map(({ stream, workspace }) => [stream, workspace]));
  /** Listeners by category and workspace. */
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
      if (workspaceId === "") return unknownListeners;
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

/** Stores changes, in the transaction that advances the reader's position. */
export async function storeListeners(tx: Sql, { began, ended }: ListenerChanges): Promise<void> {
  await tx.query("delete from work.listeners where stream = any($1)", [ended]);
  await tx.query(
    "insert into work.listeners (stream, workspace) select * from unnest($1::text[], $2::text[]) on conflict do nothing",
    [[...began.keys()], [...began.values()]],
  );
}
