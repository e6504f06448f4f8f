import type { AsyncLocalStorage } from "node:async_hooks";
import type { ServerEventBus } from "@modelcontextprotocol/server";
import { eventsAfter, feedEnd, payloadOf } from "#projections/feed/queries.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { McpRequest } from "./request.ts";

/** The current request: the bus identifies a subscriber by it. */
export type McpRequests = AsyncLocalStorage<McpRequest>;

/** The URI of a thread as a resource. */
export const threadUri = (id: string): string => `countersign://threads/${id}`;

/** Milliseconds that one wait lasts; limits only how long an ended subscription is kept in memory. */
const waitMs = 20_000;
const pageSize = 100;

/**
 * Notifications about changed resources, from the workspace's event feed. Each subscription reads the feed of the key that opened it, so it
 * hears nothing of other workspaces, whichever URI it names.
 */
export function createResourceUpdates(
  deps: HttpDependencies,
  requests: McpRequests,
  onError: (error: unknown) => void,
): ServerEventBus {
  return {
    publish: () => {},
    subscribe(listener) {
      const incoming = requests.getStore();
      const ended = new AbortController();
      if (incoming && mayHear(incoming)) {
        const signal = AbortSignal.any([ended.signal, incoming.signal, deps.closing]);
        void follow(incoming, signal).catch((error) => signal.aborted || onError(error));
      }
      return () => ended.abort();

      async function follow(
        { key: { workspaceId }, requireLive, subscribed }: McpRequest,
        signal: AbortSignal,
      ): Promise<void> {
        let seen = await feedEnd(deps.reads, workspaceId);
        while (!signal.aborted) {
          const end = await deps.feedTail.next(workspaceId, seen, { timeoutMs: waitMs, signal });
          if (end === undefined) continue;
          const rows = await eventsAfter(deps.reads, workspaceId, { after: seen, types: undefined, limit: pageSize });
          // If this instance was suspended, it must first read which keys were revoked meanwhile.
          await requireLive();
          if (signal.aborted) return;
          const changed = new Set(rows.map(uriOf));
          // Told as the client wrote it, because the library and the client compare exactly.
          for (const uri of subscribed) {
            if (changed.has(uri.toLowerCase())) listener({ kind: "resource_updated", uri });
          }
          seen = rows.at(-1) ?? end;
        }
      }
    },
  };
}

const mayHear = ({ key }: McpRequest): boolean =>
  ["read:threads", "read:events"].every((scope) => key.scopes.includes(scope));

type Row = Parameters<typeof payloadOf>[0];

const uriOf = (row: Row): string | undefined => {
  const { thread_id: id } = payloadOf(row).data as { thread_id?: unknown };
  return typeof id === "string" ? threadUri(id) : undefined;
};
