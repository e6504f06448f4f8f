import type { Clock, Ids } from "#src/clock.ts";
import { type Appended, type EventStore, type Guard, StreamMoved } from "#src/eventStore/eventStore.ts";
import { type Decider, Rejected } from "#streams/decider.ts";
import type { Actor, Event } from "#streams/event.ts";
import { type Streams, streams } from "#streams/index.ts";
import type { Stream } from "#streams/stream.ts";
import { createStateCache, type Loaded } from "./stateCache.ts";

/** On whose behalf a command runs, and what set it in motion. */
export type Cause = {
  actor: Actor;
  workspaceId: string | null;
  correlationId: string;
  causationId: string;
  /** Of a request under an Idempotency-Key: the same for every repetition. New ids derive from it (ids.ts, newId); its events carry it. */
  operation?: string;
  /** An earlier run of this operation was cut off: a command that finds its own effect in the stream answers as the first time. */
  repeated?: boolean;
  /** The API key that asked, if one did: once it is revoked, nothing is appended for it any more (streams/README.md, invariant 7). */
  keyGuard?: Guard;
  /** Streams whose present revisions the caller's judgement rests on: if one has moved, StreamMoved names it and nothing is appended. */
  unlessMoved?: readonly Guard[];
};

export type Handled<State> = Loaded<State> & {
  /** False if the command found its effect already there. */
  changed: boolean;
};

/** How an event is marked as the effect of a command under an operation; undefined without one. */
const effectMark = ({ operation }: Pick<Cause, "operation">, command: string): string | undefined =>
  operation === undefined ? undefined : `${operation}/${command}`;

const pageSize = 500;

/** One kind of stream, ready to be asked: it knows its rules and the names of its streams. */
export type StreamService<Id, State, Command> = {
  /**
   * Loads, decides, appends; folds again and decides again when somebody else was faster. Commands to one stream queue up here,
   * so that many at once do not conflict their way through. Throws Rejected, Unavailable.
   * Throws StreamMoved if a stream of the cause's `unlessMoved` has.
   * Must not be called from inside another stream's turn: `command` may be a function of the state, but a pure one.
   */
  handle(id: Id, command: Command | ((state: State) => Command), cause: Cause): Promise<Handled<State>>;
  /** The stream's state as it is now (linearisable). */
  load(id: Id): Promise<Loaded<State>>;
};

type ServiceOf<S> =
  S extends Stream<infer Id, infer State, infer Command, infer _> ? StreamService<Id, State, Command> : never;

/** A service for every kind of stream, by its noun: `services.drafts.handle(draftId, command, cause)`. */
export type StreamServices = { [Noun in keyof Streams]: ServiceOf<Streams[Noun]> };

const maxConflicts = 50;

/** The one place where streams are read, decided on and appended to. Call it once per process: its turns and its cache are that process's. */
export function createStreamServices(deps: {
  store: EventStore;
  clock: Clock;
  ids: Ids;
  /** Streams whose states are kept; 5,000 by default. */
  cacheSize?: number;
}): StreamServices {
  const cache = createStateCache(deps.store, deps.cacheSize ?? 5000);
  const turns = new Map<string, Promise<unknown>>();

  /** Runs `work` when every earlier one of the same stream is done. */
  function inTurn<T>(stream: string, work: () => Promise<T>): Promise<T> {
    const turn = (turns.get(stream) ?? Promise.resolve()).then(work, work);
    const settled = turn
      .catch(() => undefined)
      .then(() => {
        if (turns.get(stream) === settled) turns.delete(stream);
      });
    turns.set(stream, settled);
    return turn;
  }

  async function append(
    { stream, revision }: { stream: string; revision: number },
    events: Event[],
    { cause, mark }: { cause: Cause; mark: string | undefined },
  ): Promise<Appended> {
    const { keyGuard, unlessMoved = [], operation: _, repeated: __, ...rest } = cause;
    const guards = keyGuard ? [keyGuard, ...unlessMoved] : unlessMoved;
    const at = deps.clock.now().toISOString();
    const metadata = { ...rest, at, ...(mark === undefined ? {} : { operation: mark }) };
    const named = events.map((event) => ({ ...event, id: deps.ids.uuid(), metadata }));
    try {
      return await deps.store.append(stream, { revision, unlessMoved: guards }, named);
    } catch (error) {
      if (keyGuard && error instanceof StreamMoved && error.stream === keyGuard.stream) {
        throw new Rejected("unauthorized", "this API key was revoked");
      }
      throw error;
    }
  }

  /** Whether the stream holds an event of this mark. Asked only for repetitions: the stream is read from its start. */
  async function holds(stream: string, mark: string): Promise<boolean> {
    for (let from = 0; ; from += pageSize) {
      const events = await deps.store.read(stream, from, pageSize);
      if (events.some(({ metadata }) => metadata.operation === mark)) return true;
      if (events.length < pageSize) return false;
    }
  }

  async function decideAndAppend<State, Command, E extends Event>({
    decider,
    stream,
    command,
    cause,
  }: {
    decider: Decider<State, Command, E>;
    stream: string;
    command: Command | ((state: State) => Command);
    cause: Cause;
  }): Promise<Handled<State>> {
    const commandOn = (state: State): Command =>
      typeof command === "function" ? (command as (state: State) => Command)(state) : command;
    const decide = (state: State): E[] => decider.decide(commandOn(state), state);
    const markOn = (state: State) => effectMark(cause, (commandOn(state) as { type: string }).type);
    const isOwnEffect = async ({ state }: Loaded<State>): Promise<boolean> => {
      const mark = cause.repeated ? markOn(state) : undefined;
      return mark !== undefined && (await holds(stream, mark));
    };
    const asTheFirstTime = async () => ({ ...(await cache.refresh(decider, stream)), changed: true });

    let fresh = cause.repeated === true;
    let loaded = (fresh ? undefined : cache.peek<State>(stream)) ?? (await cache.refresh(decider, stream));
    if (await isOwnEffect(loaded)) return asTheFirstTime();
    for (let conflicts = 0; ; ) {
      let events: E[] = [];
      let refusal: unknown;
      try {
        events = decide(loaded.state);
      } catch (error) {
        refusal = error;
      }
      if (events.length === 0 && !fresh) {
        // "No" and "already so" are only true of the newest state; an append finds out by itself.
        loaded = await cache.refresh(decider, stream);
        fresh = true;
        continue;
      }
      if (refusal !== undefined) throw refusal;
      if (events.length === 0) return { ...loaded, changed: false };
      try {
        const appended = await append({ stream, revision: loaded.revision }, events, {
          cause,
          mark: markOn(loaded.state),
        });
        const state = events.reduce(decider.evolve, loaded.state);
        const now = { state, revision: appended.revision, position: appended.position };
        cache.put(stream, now);
        return { ...now, changed: true };
      } catch (error) {
        const isConflict = error instanceof StreamMoved && error.stream === stream;
        if (!isConflict || ++conflicts > maxConflicts) throw error;
        loaded = await cache.refresh(decider, stream);
        fresh = true;
        if (await isOwnEffect(loaded)) return asTheFirstTime();
      }
    }
  }

  const serviceOf = <Id, State, Command, E extends Event>({
    decider,
    name,
  }: Stream<Id, State, Command, E>): StreamService<Id, State, Command> => ({
    handle: (id, command, cause) =>
      inTurn(name(id), () => decideAndAppend({ decider, stream: name(id), command, cause })),
    load: (id) => cache.refresh(decider, name(id)),
  });

  return {
    apiKeys: serviceOf(streams.apiKeys),
    approvalReplies: serviceOf(streams.approvalReplies),
    assistants: serviceOf(streams.assistants),
    contacts: serviceOf(streams.contacts),
    deliveries: serviceOf(streams.deliveries),
    domains: serviceOf(streams.domains),
    domainNames: serviceOf(streams.domainNames),
    drafts: serviceOf(streams.drafts),
    emailAddresses: serviceOf(streams.emailAddresses),
    filings: serviceOf(streams.filings),
    identities: serviceOf(streams.identities),
    inboxes: serviceOf(streams.inboxes),
    installations: serviceOf(streams.installations),
    quotas: serviceOf(streams.quotas),
    rules: serviceOf(streams.rules),
    ruleRuns: serviceOf(streams.ruleRuns),
    slots: serviceOf(streams.slots),
    threads: serviceOf(streams.threads),
    webhooks: serviceOf(streams.webhooks),
    workspaces: serviceOf(streams.workspaces),
  };
}
