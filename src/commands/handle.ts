import { type EventStore, type Guard, StreamMoved } from "#src/eventStore/eventStore.ts";
import type { Clock, Ids } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import type { Actor, Event, Recorded } from "#streams/event.ts";
import { type Streams, streams } from "#streams/index.ts";
import type { Stream } from "#streams/stream.ts";
import { hasEffectMark } from "./effectMarks.ts";
import { emptyFold, type FoldedState, type Loaded } from "./states/foldState.ts";
import { createStates, type States } from "./states/states.ts";

/** Actor and cause of a command. */
export type Cause = {
  actor: Actor;
  workspaceId: string | null;
  correlationId: string;
  causationId: string;
  /**
   * Id of an operation with an Idempotency-Key, equal in each repetition. Ids of new things derive from it (ids.ts, newId), and the
   * operation's events carry it.
   */
  operation?: string;
  /**
   * True if an earlier run of this operation was interrupted. A command that finds its own effect in the stream then returns the first
   * run's result.
   */
  repeated?: boolean;
  /** When the operation began, ISO 8601 UTC, by clocks that may differ: effects of the operation are not older. Absent if unknown. */
  begunAt?: string;
  /**
   * Guard on the stream that holds the permissions of the requesting API key or person. If that stream has moved, nothing more is appended
   * for the request (streams/README.md, invariant 7).
   */
  keyGuard?: Guard;
  /** Guards on the streams that the caller judged by. If one has moved, nothing is appended, and StreamMoved is thrown with its name. */
  unlessMoved?: readonly Guard[];
};

export type Handled<State> = Loaded<State> & {
  /** False if the stream already had the command's effect. */
  changed: boolean;
};

/** Returns the mark that identifies an event as the effect of a command in an operation; undefined without an operation. */
const effectMark = ({ operation }: Pick<Cause, "operation">, command: string): string | undefined =>
  operation === undefined ? undefined : `${operation}/${command}`;

/** Loads and changes the streams of one noun. */
export type StreamService<Id, State, Command> = {
  /**
   * Loads the state, decides and appends. After a conflict, loads and decides again. Commands to one stream wait for each other within this
   * process, so that many concurrent ones do not cause conflicts. Throws Rejected, Unavailable, and StreamMoved if a stream of the cause's
   * `unlessMoved` has moved. Must not be called while another stream's command is being decided: use a function of the state as `command`
   * instead.
   */
  handle(id: Id, command: Command | ((state: State) => Command), cause: Cause): Promise<Handled<State>>;
  /** Returns the stream's present state (linearisable). In a loader (states/loader.ts), returns the state that the loader has read. */
  load(id: Id): Promise<Loaded<State>>;
  /** Returns the stream's present state, even in a loader that has read an earlier one. */
  fresh(id: Id): Promise<Loaded<State>>;
  /**
   * Returns the state cached by this instance, which may be outdated; undefined if none is cached. For loaders, and for facts that a stream
   * never loses.
   */
  kept(id: Id): Loaded<State> | undefined;
};

type ServiceOf<S> =
  S extends Stream<infer Id, infer State, infer Command, infer _> ? StreamService<Id, State, Command> : never;

/** Services of all nouns: `services.drafts.handle(draftId, command, cause)`. */
export type StreamServices = { [Noun in keyof Streams]: ServiceOf<Streams[Noun]> };

const maxConflicts = 50;

const lostRight = ({ kind }: Actor): string =>
  kind === "session" ? "your rights in this workspace changed: load the page again" : "this API key was revoked";

/**
 * Creates the services through which all streams are read and appended to. Call it once per operating-system process, because command
 * queues and cached states are shared within it.
 */
export function createStreamServices(deps: {
  store: EventStore;
  clock: Clock;
  ids: Ids;
  /** Default: a new cache, without snapshots. */
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

  /** Appends events. Returns them with the position of the last one. */
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
        // An append detects an outdated state. A refusal or an empty decision appends nothing, so the decision is repeated with the newest
        // state.
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
    answeredAddresses: serviceOf(streams.answeredAddresses),
    apiKeys: serviceOf(streams.apiKeys),
    approvalReplies: serviceOf(streams.approvalReplies),
    assistants: serviceOf(streams.assistants),
    auditEpochs: serviceOf(streams.auditEpochs),
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

/** Returns true if this command usually creates the stream, so that loading the stream first would be wasted. */
const begins = <Command>({ begunBy = [] }: Pick<Stream<never, never, Command, Event>, "begunBy">, command: unknown) =>
  begunBy.includes((command as { type?: string }).type ?? "");
