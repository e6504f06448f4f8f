import { randomUUID } from "node:crypto";
import { nounOfField, paramsOf, type Tenant } from "#test/support/examples/world.ts";
import type { Random } from "../support/random.ts";
import type { ReceivedResponse } from "./requestClient.ts";
import type { MadeRequest, RequestPool } from "./requestMaker.ts";

const keptIds = 40;

/** The ids that requests name: those that the tenant began with, and those that valid requests have created since. */
export function createPools(tenant: Tenant) {
  const pools = new Map(Object.entries(tenant.ids).map(([noun, id]) => [noun, [id]]));
  const idOf = (noun: string, random: Random, forDelete = false): string => {
    const all = pools.get(noun) ?? [];
    const from = forDelete ? all.slice(1) : all;
    return from.length > 0 && random.chance(0.95) ? random.pick(from) : randomUUID();
  };
  /** The first id stays: everything else depends on it. */
  const add = (noun: string, more: readonly string[]): void => {
    const [first, ...known] = pools.get(noun) ?? [];
    const others = [...new Set([...known, ...more])].filter((id) => id !== first).slice(-keptIds);
    pools.set(noun, first === undefined ? others : [first, ...others]);
  };
  return {
    add,
    of: (random: Random): RequestPool => ({
      key: tenant.key,
      idFor: (name) => (/_ids?$/.test(name) ? idOf(nounOfField(name), random) : randomUUID()),
      pathOf: (path, forDelete) =>
        paramsOf(path).reduce(
          (line, { name, noun }) => line.replace(`{${name}}`, encodeURIComponent(idOf(noun, random, forDelete))),
          path,
        ),
    }),
    learn({ operation }: MadeRequest, { status, text }: ReceivedResponse): void {
      const noun = operation && /^\/v1\/([\w-]+)$/.exec(operation.path)?.[1];
      // A list of keys includes our own, and revoking that would succeed.
      if (noun === "api-keys" && operation?.method === "GET") return;
      if (!noun || !pools.has(noun) || status >= 300 || operation.method === "DELETE") return;
      const { id, data } = JSON.parse(text);
      add(noun, id ? [id] : (data ?? []).slice(0, 3).map((each: { id: string }) => each.id));
    },
  };
}
