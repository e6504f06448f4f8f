import { type EventStore, type Guard, StreamMoved } from "#src/eventStore/eventStore.ts";
import type { Clock, Ids } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import type { Actor, Event, Recorded } from "#streams/event.ts";
import { type Streams, streams } from "#streams/index.ts";
import type { Stream } from "#streams/stream.ts";
import { hasEffectMark } from "./effectMarks.ts";
import { emptyFold, type FoldedState, type Loaded } from "./states/foldState.ts";
import { createStates, type States } from "./states/states.ts";

/** Actor and trigger of a command. */
export type Cause = {
  actor: Actor;
  workspaceId: string | null;
  correlationId: string;
  causationId: string;
  /**
   * Set for a request with an Idempotency-Key: the same for every repetition. New ids derive from it (ids.ts, newId); its events carry it.
   */
  operation?: string;
  /** True if an earlier run of this operation was cut off: a command that finds its own effect in the stream returns the first result. */
  repeated?: boolean;
  /** Start of the operation, ISO 8601 UTC, within clock differences: its effects are not older. Absent: unknown. */
  begunAt?: string;
  /**
   * Stream with the permissions of the requesting API key or person: once it has moved, nothing more is appended
   * for them (streams/README.md, invariant 7).
   */
  keyGuard?: Guard;
  /** Streams at the revisions that the caller judged by: if one has moved, StreamMoved names it and nothing is appended. */
  unlessMoved?: readonly Guard[];
};

export type Handled<State> = Loaded<State> & {
  /** False if the command's effect already existed. */
  changed: boolean;
};

/** Returns the mark that identifies an event as the effect of a command in an operation; undefined without an operation. */
const effectMark = ({ operation }: Pick<Cause, "operation">, command: string): string | undefined =>
  operation === undefined ? undefined : `${operation}/${command}`;

/** Service for one kind of stream, with its decider and stream names. */
export type StreamService<Id, State, Command> = {
  /**
   * Loads, decides, appends; loads and decides again after a conflict. Commands to one stream are queued here, so that many at once do not
   * cause conflicts. Throws Rejected, Unavailable, and StreamMoved if a stream of the cause's `unlessMoved` has moved. Must not be called
   * while another stream's command is decided: `command` may be a pure function of the state.
   */
  handle(id: Id, command: Command | ((state: State) => Command), cause: Cause): Promise<Handled<State>>;
  /** Returns the stream's present state (linearisable); a loader (states/loader.ts) returns the state it has read. */
  load(id: Id): Promise<Loaded<State>>;
  /** Returns the stream's present state, even if a loader has read it before. */
  fresh(id: Id): Promise<Loaded<State>>;
  /** Returns this instance's cached state, however old; undefined if there is none. For loaders only. */
  kept(id: Id): Loaded<State> | undefined;
};

type ServiceOf<S> =
  S extends Stream<infer Id, infer State, infer Command, infer _> ? StreamService<Id, State, Command> : never;

/** Services for all kinds of streams, by noun: `services.drafts.handle(draftId, command, cause)`. */
export type StreamServices = { [Noun in keyof Streams]: ServiceOf<Streams[Noun]> };

const maxConflicts = 50;

const lostRight = ({ kind }: Actor): string =>
  kind === "session" ? "your rights in this workspace changed: load the page again" : "this API key was revoked";

/**
 * Creates the only services that read, decide on and append to streams. Call it once per process:
 * queues and cached states are per process.
 */
export function createStreamServices(deps: {
  store: EventStore;
  clock: Clock;
  ids: Ids;
  /** Default: a separate cache, without snapshots. */
  states?: States;
}): StreamServices {
  const states = deps.states ?? createStates({ store: deps.store });
  const turns = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier work on the same stream. */
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

  /** Appends events; returns them with their position. */
  async function append<E extends Event>(
    { stream, revision }: { stream: string; revision: number },
    events: readonly E[],
    { cause, mark }: { cause: Cause; mark: string | undefined },
  ) {
    const { keyGuard, unlessMoved = [], operation: _, repeated: __, begunAt: ___, ...rest } = cause;
    const guards = keyGuard ? [keyGuard, ...unlessMoved] : unlessMoved;
    const at = deps.clock.now().toISOString();
    const metadata = { ...rest, at, ...(mark === undefined ? {} : { operation: mark }) };
    const named: (E & Pick<Recorded, "id" | "metadata">)[] = events.map((event) => ({
      ...event,
      id: deps.ids.uuid(),
      metadata,
    }));
    try {
      const appended = await deps.store.append(stream, { revision, unlessMoved: guards }, named);
      return { stream, events: named, ...appended };
    } catch (error) {
      if (keyGuard && error instanceof StreamMoved && error.stream === keyGuard.stream) {
        throw new Rejected("unauthorized", lostRight(cause.actor));
      }
      throw error;
    }
  }

  async function decideAndAppend<State, Command, E extends Event>({
    kind,
    stream,
    command,
    cause,
  }: {
    kind: Stream<never, State, Command, E>;
    stream: string;
    command: Command | ((state: State) => Command);
    cause: Cause;
  }): Promise<Handled<State>> {
    const commandOn = (state: State): Command =>
      typeof command === "function" ? (command as (state: State) => Command)(state) : command;
    const decide = (state: State): E[] => kind.decider.decide(commandOn(state), state);
    const markOn = (state: State) => effectMark(cause, (commandOn(state) as { type: string }).type);
    const isOwnEffect = async ({ state, revision }: Loaded<State>): Promise<boolean> => {
      const mark = cause.repeated ? markOn(state) : undefined;
      if (mark === undefined) return false;
      return hasEffectMark(deps.store, { stream, revision }, { mark, begunAt: cause.begunAt });
    };
    const load = (): Promise<FoldedState<State>> => states.load(kind, stream);
    const asTheFirstTime = async () => ({ ...loadedOf(await load()), changed: true });

    let fresh = cause.repeated === true;
    const begun = (): FoldedState<State> | undefined => (begins(kind, command) ? emptyFold(kind.decider) : undefined);
    let folded = (fresh ? undefined : (states.peek<State>(stream) ?? begun())) ?? (await load());
    if (await isOwnEffect(folded)) return asTheFirstTime();
    for (let conflicts = 0; ; ) {
      let events: E[] = [];
      let refusal: unknown;
      try {
        events = decide(folded.state);
      } catch (error) {
        refusal = error;
      }
      if (events.length === 0 && !fresh) {
        // "No" and "nothing to do" are only valid for the newest state; an append detects an old one by itself.
        folded = await load();
        fresh = true;
        continue;
      }
      if (refusal !== undefined) throw refusal;
      if (events.length === 0) return { ...loadedOf(folded), changed: false };
      try {
        const appended = await append({ stream, revision: folded.revision }, events, {
          cause,
          mark: markOn(folded.state),
        });
        return { ...loadedOf(states.advance(kind, folded, appended)), changed: true };
      } catch (error) {
        const isConflict = error instanceof StreamMoved && error.stream === stream;
        if (!isConflict || ++conflicts > maxConflicts) throw error;
        folded = await load();
        fresh = true;
        if (await isOwnEffect(folded)) return asTheFirstTime();
      }
    }
  }

  const serviceOf = <Id, State, Command, E extends Event>(
    kind: Stream<Id, State, Command, E>,
  ): StreamService<Id, State, Command> => ({
    handle: (id, command, cause) => {
      const stream = kind.name(id);
      return inTurn(stream, () => decideAndAppend({ kind, stream, command, cause }));
    },
    load: async (id) => loadedOf(await states.load(kind, kind.name(id))),
    fresh: async (id) => loadedOf(await states.load(kind, kind.name(id))),
    kept: (id) => {
      const folded = states.peek<State>(kind.name(id));
      return folded && loadedOf(folded);
    },
  });

  return {
    apiKeys: serviceOf(streams.apiKeys),
    approvalReplies: serviceOf(streams.approvalReplies),
    assistants: serviceOf(streams.assistants),
    billings: serviceOf(streams.billings),
    channelTests: serviceOf(streams.channelTests),
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
    members: serviceOf(streams.members),
    processorCustomers: serviceOf(streams.processorCustomers),
    quotas: serviceOf(streams.quotas),
    rules: serviceOf(streams.rules),
    ruleRuns: serviceOf(streams.ruleRuns),
    serviceMails: serviceOf(streams.serviceMails),
    slots: serviceOf(streams.slots),
    strayMails: serviceOf(streams.strayMails),
    threads: serviceOf(streams.threads),
    userEmails: serviceOf(streams.userEmails),
    users: serviceOf(streams.users),
    webhooks: serviceOf(streams.webhooks),
    workspaces: serviceOf(streams.workspaces),
  };
}

const loadedOf = <State>({ state, revision, position }: FoldedState<State>): Loaded<State> => ({
  state,
  revision,
  position,
});

/** True if a stream mostly does not exist before this command, so it need not be loaded first. */
const begins = <Command>({ begunBy = [] }: Pick<Stream<never, never, Command, Event>, "begunBy">, command: unknown) =>
  begunBy.includes((command as { type?: string }).type ?? "");
