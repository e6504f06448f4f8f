import { type Guard, StreamMoved } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { type Streams, streams } from "#streams/index.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause, StreamService, StreamServices } from "../handle.ts";
import type { Loaded } from "./folded.ts";

/**
 * Loads the states that one judgement rests on. `load` reads each stream once, however many rules ask for it, and what is asked in one tick is read together;
 * `fresh` reads again. Each judgement starts a loader of its own and drops it, so no moment believes what an earlier one has read.
 */
export type Loader = Dependencies & {
  /** The dependencies for the append that the judgement leads to, which throws Unsure if that rests on too many streams to guard it. */
  appending(): Dependencies;
  /** Throws Unsure if the states may be outdated: a refusal is believed of fresh states alone. */
  requireFresh(): void;
};

/** The dependencies for something that has to be done before a rule can judge: it reads for itself. */
export const actingFor = (deps: Dependencies | Loader): Dependencies => ("appending" in deps ? deps.appending() : deps);

/** The states that an instance keeps do not settle the question: it is to be asked of fresh ones. */
class Unsure extends Error {
  override readonly name = "Unsure";
}

/** An append is guarded by so many streams at most. */
const mostGuards = 8;

/** Kinds whose outdated states need no guard: filing only goes on, and a place in the plan is decided by its reservation. */
const unguarded: readonly (keyof Streams)[] = ["filings", "quotas"];

type AnyService = StreamService<unknown, unknown, unknown>;
type AnyKind = { name(id: unknown): string };

/** The services, each in the place of the one that `change` makes of it. */
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

/** Loads states as the log has them when they are first asked for. */
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
 * Loads states as this instance keeps them, however old, and reads those that it does not keep. Every append is guarded by all that was loaded, so each
 * stream has one state, even if this instance keeps a newer one meanwhile.
 */
export function keptStates(deps: Dependencies): Loader {
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
      throw new Unsure(`kept states of ${noun} do not settle this`);
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
      throw new Unsure("a refusal is believed of fresh states alone");
    },
  };
}

/**
 * Judges, and appends by `loader.appending()`. The states that this instance keeps are enough where they lead to an append: its guards refuse it if one
 * has changed. Whatever else they lead to is judged again by fresh states. A store that cannot judge guards with the append is asked for fresh states
 * at once.
 */
export async function keptFirst<T>(deps: Dependencies, judge: (loader: Loader) => Promise<T>): Promise<T> {
  if (deps.store.guards) {
    try {
      return await judge(keptStates(deps));
    } catch (error) {
      if (!(error instanceof Unsure || error instanceof Rejected || error instanceof StreamMoved)) throw error;
    }
  }
  return judge(freshStates(deps));
}
