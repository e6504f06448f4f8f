import { type Guard, StreamMoved } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { type Streams, streams } from "#streams/index.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause, StreamService, StreamServices } from "../handle.ts";
import type { Loaded } from "./foldState.ts";

/**
 * Loads the states that one judgement uses. `load` reads each stream once, however many rules ask for it, and reads of one tick are
 * combined; `fresh` reads again. Each judgement uses a new loader, so none relies on what an earlier one has read.
 */
export type Loader = Dependencies & {
  /** Returns dependencies for the append after the judgement; the append throws Unsure if it would need too many guards. */
  appending(): Dependencies;
  /** Throws Unsure if the states may be outdated: a refusal requires fresh states. */
  requireFresh(): void;
};

/** Returns dependencies for work that must be done before a judgement, with their own reads. */
export const withOwnReads = (deps: Dependencies | Loader): Dependencies =>
  "appending" in deps ? deps.appending() : deps;

/** Thrown if cached states do not suffice for a judgement: repeat it with fresh ones. */
class Unsure extends Error {
  override readonly name = "Unsure";
}

/** Largest number of guards of one append. */
const mostGuards = 8;

/** Kinds whose outdated states need no guard: filing only advances, and quota is decided by its reservation. */
const unguarded: readonly (keyof Streams)[] = ["filings", "quotas"];

type AnyService = StreamService<unknown, unknown, unknown>;
type AnyKind = { name(id: unknown): string };

/** Returns the services, each modified by `change`. */
function changed(
  deps: Dependencies,
  change: (service: AnyService, kind: AnyKind, noun: keyof Streams) => Partial<AnyService>,
): Dependencies {
  const nouns = Object.keys(streams) as (keyof Streams)[];
  const services = nouns.map((noun) => {
    const service = deps[noun] as AnyService;
    return [noun, { ...service, ...change(service, streams[noun] as AnyKind, noun) }];
  });
  return { ...deps, ...(Object.fromEntries(services) as StreamServices) };
}

/** Loads states as the log has them at the first request. */
export function freshStates(deps: Dependencies): Loader {
  const loads = new Map<string, Promise<Loaded<unknown>>>();
  const reading = changed(deps, (service, { name }) => {
    const remember = (id: unknown) => {
      const load = service.fresh(id);
      loads.set(name(id), load);
      return load;
    };
    return {
      load: (id) => loads.get(name(id)) ?? remember(id),
      fresh: remember,
      handle: (id, command, cause) => service.handle(id, command, cause).finally(() => loads.delete(name(id))),
    };
  });
  return { ...reading, appending: () => deps, requireFresh: () => undefined };
}

/**
 * Loads states from this instance's cache, however old, and reads those not cached. Every append is guarded by all loaded states, so each
 * stream has one state in a judgement, even if a newer one is cached meanwhile.
 */
export function cachedStates(deps: Dependencies): Loader {
  const loads = new Map<string, Promise<Loaded<unknown>>>();
  const judged = new Map<string, Guard>();

  const reading = changed(deps, (service, { name }, noun) => {
    const isGuarded = !unguarded.includes(noun);
    const remember = async (id: unknown) => {
      const loaded = service.kept(id) ?? (await service.fresh(id));
      const stream = name(id);
      if (isGuarded) judged.set(stream, { stream, revision: loaded.revision });
      return loaded;
    };
    const load = (id: unknown) => {
      const known = loads.get(name(id)) ?? remember(id);
      loads.set(name(id), known);
      return known;
    };
    const refuse = async () => {
      throw new Unsure(`cached states of ${noun} cannot decide this command`);
    };
    return { load, fresh: isGuarded ? load : refuse, handle: refuse };
  });
  function guarding({ unlessMoved = [] }: Pick<Cause, "unlessMoved">, own: string): Guard[] {
    const guards = [...unlessMoved.filter(({ stream }) => !judged.has(stream)), ...judged.values()];
    const others = guards.filter(({ stream }) => stream !== own);
    if (others.length > mostGuards) throw new Unsure("too many streams to guard an append by");
    return others;
  }

  return {
    ...reading,
    appending: () =>
      changed(deps, (service, { name }) => ({
        handle: async (id, command, cause) =>
          service.handle(id, command, { ...cause, unlessMoved: guarding(cause, name(id)) }),
      })),
    requireFresh() {
      throw new Unsure("a refusal is trusted only from fresh states");
    },
  };
}

/**
 * Judges, then appends through `loader.appending()`. Cached states suffice if they lead to an append, since its guards
 * refuse it if a state has changed. Any other result is judged again with fresh states. A store that does not check
 * guards atomically gets fresh states at once.
 */
export async function tryCachedFirst<T>(deps: Dependencies, judge: (loader: Loader) => Promise<T>): Promise<T> {
  if (deps.store.guards) {
    try {
      return await judge(cachedStates(deps));
    } catch (error) {
      if (!(error instanceof Unsure || error instanceof Rejected || error instanceof StreamMoved)) throw error;
    }
  }
  return judge(freshStates(deps));
}
