import { type Guard, StreamMoved } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { type Streams, streams } from "#streams/index.ts";
import type { Dependencies } from "../dependencies.ts";
import type { StreamService, StreamServices } from "../handle.ts";
import type { Loaded } from "./foldState.ts";

/**
 * Loads the states for one judgement. `load` reads each stream once, however many rules need it, and combines the reads of one tick;
 * `fresh` reads again. Each judgement needs a new loader, so that it does not rely on states read for an earlier one.
 */
export type Loader = Dependencies & {
  /**
   * Returns dependencies for the append after the judgement, guarded by the loaded states; `only`: by those of one noun. The append throws
   * Unsure if it would need too many guards.
   */
  appending(only?: keyof Streams): Dependencies;
  /** Throws Unsure if the loaded states may be outdated. Called before a refusal, which requires fresh states. */
  requireFresh(): void;
};

/** Returns dependencies that do not share the loader's states, for work that must be done before a judgement. */
export const withOwnReads = (deps: Dependencies | Loader): Dependencies =>
  "appending" in deps ? deps.appending() : deps;

/** Thrown if cached states do not suffice for a judgement: repeat it with fresh ones. */
class Unsure extends Error {
  override readonly name = "Unsure";
}

/** Maximum number of guards of one append. */
const mostGuards = 8;

/** Kinds of streams whose outdated states need no guard: filed mail stays filed, and a reservation checks the quota itself. */
const unguarded: readonly (keyof Streams)[] = ["filings", "quotas"];

type AnyService = StreamService<unknown, unknown, unknown>;
type AnyKind = { name(id: unknown): string };

/** Returns the services of all nouns, each changed by `change`. */
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

/** Creates a loader that reads each state from the log when it is first needed. */
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
 * Creates a loader that uses this instance's cached states, however old, and reads those that are not cached. Every append is guarded by
 * all loaded states. A stream keeps one state during a judgement, even if a newer one is cached meanwhile.
 */
export function cachedStates(deps: Dependencies): Loader {
  const loads = new Map<string, Promise<Loaded<unknown>>>();
  const judged = new Map<string, { noun: keyof Streams; guard: Guard }>();

  const reading = changed(deps, (service, { name }, noun) => {
    const isGuarded = !unguarded.includes(noun);
    const remember = async (id: unknown) => {
      const loaded = service.kept(id) ?? (await service.fresh(id));
      const stream = name(id);
      if (isGuarded) judged.set(stream, { noun, guard: { stream, revision: loaded.revision } });
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
  type Guarding = { unlessMoved: readonly Guard[] | undefined; only: keyof Streams | undefined };

  function guarding(own: string, { unlessMoved = [], only }: Guarding): Guard[] {
    const loaded = [...judged.values()].filter(({ noun }) => only === undefined || noun === only);
    const guards = [...unlessMoved.filter(({ stream }) => !judged.has(stream)), ...loaded.map(({ guard }) => guard)];
    const others = guards.filter(({ stream }) => stream !== own);
    if (others.length > mostGuards) throw new Unsure("too many streams to guard an append by");
    return others;
  }

  return {
    ...reading,
    appending: (only) =>
      changed(deps, (service, { name }) => ({
        handle: async (id, command, cause) => {
          const unlessMoved = guarding(name(id), { unlessMoved: cause.unlessMoved, only });
          return service.handle(id, command, { ...cause, unlessMoved });
        },
      })),
    requireFresh() {
      throw new Unsure("a refusal is trusted only from fresh states");
    },
  };
}

/**
 * Judges with cached states, then appends through `loader.appending()`. The append's guards refuse it if a state has changed. Any result
 * without an append is judged again with fresh states. If the store does not check guards atomically, fresh states are used at once.
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
