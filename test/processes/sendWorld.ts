import type { Reads } from "#projections/reads.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { noteDraftOnThread } from "#src/commands/drafts/changeDraft.ts";
import { contentSha256 } from "#src/commands/drafts/draftContents.ts";
import { type Cause, createStreamServices } from "#src/commands/handle.ts";
import { createMemoryRoom } from "#src/commands/memoryRoom.ts";
import { StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { linesBesideOurs } from "#src/mail/in/copies.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import { uncheckedRuns } from "#src/mail/in/links/tokenRuns.ts";
import { CredentialsRefused, type HandOverOutcome, type MailProvider } from "#src/mail/mailProvider.ts";
import { createMessageIds } from "#src/mail/out/messageIds.ts";
import { type Clock, systemIds } from "#src/platform/clock.ts";
import { createCostlyWork } from "#src/platform/threadPool/costlyWork.ts";
import { deliver } from "#src/processes/deliver.ts";
import { escalateUnanswered } from "#src/processes/escalateUnanswered.ts";
import { fileInboundEmail } from "#src/processes/fileInboundEmail.ts";
import { noteDrafts } from "#src/processes/noteDrafts.ts";
import type { HandlerResult, Process, ProcessObstacle, Timer } from "#src/processes/process.ts";
import { releaseHeldMail } from "#src/processes/releaseHeldMail.ts";
import { runRules } from "#src/processes/runRules.ts";
import { sendApproved } from "#src/processes/sendApproved.ts";
import { createHandlerContext } from "#src/runtime/work/handlerContext.ts";
import { laterTimer } from "#src/runtime/work/laterTimer.ts";
import { isRelevant } from "#src/runtime/work/relevance.ts";
import { endedObstacles } from "#src/runtime/work/relevantEvents.ts";
import { Rejected } from "#streams/decider.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { StoredContent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import { quotaStream } from "#streams/quota/events.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { channelDoubles } from "#test/support/chatDouble.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { identityCreated, mailReceived, workspaceCreated } from "#test/support/examples/index.ts";
import { Crashed, faultyEventStore, type StoreFault } from "#test/support/faultyEventStore.ts";
import { logReads } from "#test/support/logReads.ts";
import { memoryBlobs } from "#test/support/memoryBlobs.ts";
import { copyOf, createMemoryEventStore } from "#test/support/memoryEventStore.ts";
import { sharedThreads } from "#test/support/sharedThreads.ts";

export const workspaceId = "11111111-1111-7111-8111-111111111111";
export const identityId = "22222222-2222-7222-8222-222222222222";

export const cause: Cause = {
  actor: { kind: "api_key", id: "key" },
  workspaceId,
  correlationId: "test",
  causationId: "test",
};

/** Makes the cause of a signed-in person's command. */
export const signedIn = (id: string, name: string): Cause => ({
  ...cause,
  actor: { kind: "session", id, name, email: `${id}@people.example` },
});

/** Members of the workspace who may approve. */
export const ann = signedIn("ann", "Ann Example");
export const bob = signedIn("bob", "Bob Example");

export type Hand = { attemptId: string; outcome: HandOverOutcome };
type Work = (process: Process) => HandlerResult | undefined;
export type Node = Dependencies & { faulty: ReturnType<typeof faultyEventStore>; processes: Process[] };

export type WorldOptions = {
  cap?: number;
  inboundCap?: number;
  tickMs?: number;
  deliveries?: number;
  handOverSeconds?: number;
  /** Other read models. By default they are made from the log at each query. */
  reads?: Reads;
};
type KeptTimers = Map<string, { process: string; timer: Timer }>;
/** A snapshot of a world, from which other worlds begin. */
export type Beginning = {
  events: readonly Recorded[];
  contents: ReadonlyMap<string, Buffer>;
  timers: KeptTimers;
  position: number;
  ms: number;
  ticks: number;
};

const beginnings = new Map<string, Promise<Beginning>>();

/** Runs `prepare` once for each name and returns the world's snapshot. */
export function beginningOf(name: string, prepare: () => Promise<SendWorld>): Promise<Beginning> {
  const made = beginnings.get(name) ?? prepare().then((world) => world.asBeginning());
  beginnings.set(name, made);
  return made;
}

/** Adds an owner, and the approvers Ann and Bob. */
async function joinPeople({ members }: Node): Promise<void> {
  const people = [
    ["owner", "owner"],
    ["ann", "approver"],
    ["bob", "approver"],
  ] as const;
  for (const [userId, role] of people) {
    const member = { memberId: `member-${userId}`, userId, email: `${userId}@people.example`, role };
    await members.handle(workspaceId, { type: "JoinMember", ...member }, cause);
  }
}

/**
 * A world with a workspace, an identity and a customer's mail that is filed: see openSendWorld. `people`: its members, by default there are
 * some.
 */
export async function createSendWorld({ people = true, ...options }: WorldOptions & { people?: boolean } = {}) {
  const beginning = await beginningOf(`send world ${JSON.stringify({ people, ...options })}`, async () => {
    const world = openSendWorld(options);
    const { node } = world;
    await node.workspaces.handle(workspaceId, { type: "CreateWorkspace", workspace: workspaceCreated() }, cause);
    const identity = identityCreated({ workspaceId });
    await node.identities.handle(identityId, { type: "CreateIdentity", identity }, cause);
    if (people) await joinPeople(node);
    await world.acknowledge(1);
    await world.drain();
    return world;
  });
  return openSendWorld(options, beginning);
}

/**
 * The send path without its surroundings: one log in memory, any number of instances on it, a clock that only tests move (each look at the
 * monotonic one takes `tickMs`), and a dispatcher that delivers every event twice. Nothing has happened in it, or what has in its
 * beginning.
 */
export function openSendWorld(
  { cap = 50, inboundCap = 10_000, tickMs = 1, deliveries = 2, handOverSeconds = 60, reads }: WorldOptions,
  beginning?: Beginning,
) {
  const limits = { ...planLimits.builder_pack, emailsPerPeriod: cap, inboundPerPeriod: inboundCap, rules: 20 };
  const log = createMemoryEventStore(beginning?.events);
  const contents = new Map(beginning?.contents);
  const blobs = memoryBlobs(contents);
  let ms = beginning?.ms ?? Date.parse("2026-01-01T00:00:00Z");
  let ticks = beginning?.ticks ?? 0;
  /** The wall clock's error in milliseconds. The monotonic clock has none. */
  let offMs = 0;
  const clock: Clock = {
    now: () => new Date(ms + offMs),
    monotonic() {
      ticks += tickMs;
      return ms + ticks;
    },
  };
  const hands: Hand[] = [];
  let answers: (HandOverOutcome | "no connection" | "credentials" | "crash after")[] = [];
  let evidence: "accepted" | "refused" | undefined;
  let beforeWriting = (): unknown => undefined;
  let onConnecting = (): unknown => undefined;
  let beforeAnswering = (): unknown => undefined;
  const timers: KeptTimers = new Map(beginning?.timers);
  /** Handlers that asked to be run again at a time. */
  let asked: { name: string; run: Work; atMs: number }[] = [];
  let aside: { name: string; run: Work; obstacles: readonly ProcessObstacle[] }[] = [];
  let position = beginning?.position ?? 0;

  let through: MailProvider | undefined;

  const provider = (node: () => Node): MailProvider => ({
    name: "outbox",
    async connect(caller) {
      await onConnecting();
      if (through) return through.connect(caller);
      if (answers[0] === "no connection" || answers[0] === "credentials") {
        const Refusal = answers.shift() === "credentials" ? CredentialsRefused : Unavailable;
        throw new Refusal("no connection");
      }
      return {
        async handOver({ attemptId }, mayWrite) {
          await beforeWriting();
          if (!(await mayWrite())) return { kind: "not_handed_over", message: "the claim is too old" };
          if (node().faulty.crashed) throw new Crashed("a dead process hands nothing over");
          const answer = answers.shift() ?? ({ kind: "accepted", response: "250 ok" } as const);
          if (typeof answer === "string") throw new Crashed("during the hand-over");
          hands.push({ attemptId, outcome: answer });
          await beforeAnswering();
          return answer;
        },
        discard() {},
      };
    },
    lookUp: async (attempt) => (through ? through.lookUp?.(attempt) : evidence),
    async close() {},
  });

  function createNode(fault?: StoreFault): Node {
    const faulty = faultyEventStore(log, fault);
    const deps: Dependencies = {
      ...createStreamServices({ store: faulty, clock, ids: systemIds }),
      store: faulty,
      clock,
      ids: systemIds,
      blobs,
      auditHeads: undefined as never,
      // There is no index of filings: filing reads the filing stream from its start.
      reads: reads ?? logReads(log),
      projected: async () => reads === undefined,
      headerReader: { read: async (raw, { envelopeFrom }) => readHeaders(raw, envelopeFrom) },
      parser: {
        parse: async (raw) => ({
          bodyText: raw.toString(),
          bodyHtml: null,
          extractedText: raw.toString(),
          writers: [],
          attachments: [],
          unreadable: null,
          cut: null,
          notes: [],
          links: { ...uncheckedRuns, unchecked: false },
        }),
        linesBesideOurs: async (compared) => linesBesideOurs(compared),
      },
      resolver: undefined as never,
      evaluateSpf: undefined as never,
      authenticator: undefined as never,
      mailRoom: createMemoryRoom(64 * 1024 * 1024),
      pictures: { fetch: async () => undefined },
      costlyWork: createCostlyWork(sharedThreads()),
      // Keys are stored unsealed in this log.
      payments: null,
      accounts: {} as never,
      accountMail: {} as never,
      keyRing: { open: (sealed: string) => sealed, deriveKeys: () => [Buffer.alloc(32, 9)] } as never,
      messageIds: createMessageIds(Buffer.alloc(32, 7)),
      settings: {
        sandboxDomain: null,
        inboundMxHost: "localhost",
        spfInclude: null,
        approvalsFrom: "approvals@agents.localhost",
        publicUrl: "http://localhost",
        approvalLinkHours: 72,
        notifyThrottleSeconds: 60,
        planLimits: { builder_pack: limits, pro: limits, agency: limits },
        barrierTimeoutMs: 5_000,
      },
    };
    const delivery = {
      instanceId: "test",
      connections: 10,
      retrySeconds: [5, 30],
      confirmSeconds: 900,
      handOverSeconds,
    };
    const node: Node = {
      ...deps,
      faulty,
      processes: [
        fileInboundEmail(deps),
        runRules(deps, { provider: provider(() => node), channels: channelDoubles() }),
        releaseHeldMail(deps),
        escalateUnanswered(deps),
        sendApproved(deps),
        deliver(deps, { ...delivery, provider: provider(() => node) }),
        noteDrafts(deps),
      ],
    };
    return node;
  }

  let node = createNode();

  let stopping = new AbortController();
  const contextFor = ({ name: process }: Process, subject: Recorded | Timer) =>
    createHandlerContext(
      {
        ...{ process, clock, signal: stopping.signal, attempt: 1, projected: async () => true },
        onTimer(change) {
          if ("set" in change)
            timers.set(`${process}/${change.set.key}/${change.set.name}`, { process, timer: change.set });
          else timers.delete(`${process}/${change.cancel}/${change.name}`);
        },
      },
      subject,
    );

  /** Runs a handler as the service does: it is repeated after infrastructure errors, and a dead instance is replaced. */
  async function work(name: string, run: Work): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      try {
        const answer = await run(node.processes.find((process) => process.name === name) as Process);
        if (answer && "againInMs" in answer) {
          asked.push({ name, run, atMs: ms + answer.againInMs });
          return;
        }
        if (answer && !("setAside" in answer)) throw new Error(`nothing answers ${JSON.stringify(answer)} here`);
        if (answer && mayHaveEnded(answer.setAside)) continue;
        if (answer) aside.push({ name, run, obstacles: answer.setAside });
        return;
      } catch (error) {
        if (error instanceof Crashed) node = createNode();
        else if (error instanceof Unavailable || error instanceof StreamMoved) continue;
        else throw error;
      }
    }
    throw new Error(`${name} never came through`);
  }

  /** True if one of these obstacles may have ended since it was seen. */
  const mayHaveEnded = (obstacles: readonly ProcessObstacle[], ended = endedObstacles(log.all)): boolean =>
    obstacles.some(({ stream, revision }) => (ended.get(stream) ?? -1) > revision);

  /** Runs the handlers again that were set aside under this event's stream. */
  async function wakeAside(event: Recorded): Promise<void> {
    const woken = aside.filter(({ obstacles }) => mayHaveEnded(obstacles, endedObstacles([event])));
    aside = aside.filter((each) => !woken.includes(each));
    for (const { name, run } of woken) await work(name, run);
  }

  /** Hands every new event to every process `deliveries` times, or sets its timer. */
  async function drain(): Promise<void> {
    let at = position;
    while (at < log.all.length) {
      const event = copyOf(log.all[at] as Recorded);
      for (const process of node.processes.filter((process) => isRelevant(process, event))) {
        const { name } = process;
        const timer = laterTimer(process, event, clock.now());
        if (timer) timers.set(`${name}/${timer.key}/${timer.name}`, { process: name, timer });
        else
          for (let n = 0; n < deliveries; n++)
            await work(name, (process) => process.on[event.type]?.(event, contextFor(process, event)));
      }
      await wakeAside(event);
      // The position moves last, so that an event whose handler was cut off is delivered again.
      at += 1;
      position = Math.max(position, at);
    }
  }

  async function fireDue(): Promise<void> {
    const again = asked.filter(({ atMs }) => atMs <= ms);
    asked = asked.filter((each) => !again.includes(each));
    for (const { name, run } of again) await work(name, run);
    for (const [key, { process: name, timer }] of [...timers]) {
      if (timer.dueAt > clock.now()) continue;
      timers.delete(key);
      await work(name, (process) => process.onTimer?.(timer, contextFor(process, timer)));
    }
  }

  async function advance(by: number): Promise<void> {
    ms += by;
    await fireDue();
    await drain();
  }

  /** Advances the clock from timer to timer until none is left or `until` holds. */
  async function run(until: () => boolean = () => false): Promise<void> {
    await drain();
    for (let steps = 0; timers.size + asked.length > 0 && !until(); steps++) {
      if (steps > 1_000) throw new Error("it never comes to rest");
      const dueTimers = [...timers.values()].map(({ timer }) => timer.dueAt.getTime() - offMs);
      const due = [...dueTimers, ...asked.map(({ atMs }) => atMs)];
      const next = Math.min(...due);
      await advance(Math.max(0, next - ms));
    }
  }

  const threadId = () =>
    log.all.find((event) => event.type === "ThreadOpened")?.stream.slice("thread-".length) as string;
  const fresh = createStreamServices({ store: log, clock, ids: systemIds });
  const newestWord = async () => (await fresh.threads.load(threadId())).state.newestWord;

  /** Records the customer's mail as received, by another instance. The dispatcher files it. */
  async function acknowledge(number: number, references: string[] = []): Promise<void> {
    const raw = Buffer.from(`mail ${number}`);
    const data = mailReceived({ number, references, identityId, workspaceId, rawSha256: await blobs.put(raw) });
    await elsewhere().inboxes.handle(identityId, { type: "ReceiveMail", mail: data }, cause);
  }

  function placeOf(messageId: string) {
    const received = log.all.find(({ type, data }) => type === "MessageReceived" && data.messageId === messageId);
    return received ? { threadId: idOf(received.stream), revision: received.revision } : null;
  }

  async function submit(
    {
      content = draftContent(),
      stored = { content, contentBlob: null },
      ...different
    }: {
      autoApproved?: boolean;
      content?: DraftContent;
      stored?: StoredContent;
    } = {},
    on: Node = node,
  ): Promise<string> {
    const draftId = systemIds.uuid();
    const word = await newestWord();
    const draft = {
      ...stored,
      htmlRemoved: [],
      workspaceId,
      threadId: threadId(),
      identityId,
      basedOnMessageId: word?.messageId ?? null,
      basedOnNumber: word?.number ?? 0,
      ...(word && { basedOnReceivedAt: clock.now().toISOString() }),
      answers: word && placeOf(word.messageId),
      messageId: systemIds.uuid(),
      contentSha256: contentSha256(content),
      rationale: null,
      metadata: null,
      staleWarning: false,
      autoApproved: false,
      ...different,
    };
    // A draft is approved by the setting only if it is on.
    if (draft.autoApproved) await changeIdentity({ autoApproveReplies: true });
    const submitted = await on.drafts.handle(draftId, { type: "SubmitDraft", draft }, cause);
    await noteDraftOnThread(on, { draftId, ...submitted }, cause);
    await drain();
    return draftId;
  }

  /** Changes the identity from another instance than the one under test. */
  async function changeIdentity(changes: Partial<IdentitySettings>): Promise<void> {
    const command = { type: "UpdateIdentity", changes, mayLoosen: true } as const;
    await elsewhere().identities.handle(identityId, command, cause);
  }

  const elsewhere = () => createStreamServices({ store: log, clock, ids: systemIds });

  async function edit(draftId: string, bodyText: string): Promise<void> {
    const content = draftContent({ body_text: bodyText });
    const command = {
      type: "EditDraft" as const,
      content,
      contentBlob: null,
      htmlRemoved: [],
      contentSha256: contentSha256(content),
      rationale: null,
      changedFields: ["body_text"],
      because: "edit" as const,
      ifVersion: null,
    };
    const edited = await node.drafts.handle(draftId, command, cause);
    await noteDraftOnThread(node, { draftId, ...edited }, cause);
    await drain();
  }

  /** Approves and requests sending, as a person's press does. */
  const approve = (draftId: string, on: Node = node) =>
    on.drafts.handle(
      draftId,
      { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true, tokenSha256: "a person's" },
      cause,
    );

  const state = {
    draft: async (draftId: string) => (await fresh.drafts.load(draftId)).state,
    thread: async () => (await fresh.threads.load(threadId())).state,
    quota: async () => (await fresh.quotas.load(quotaStream(workspaceId, "lifetime"))).state.used,
  };

  return {
    log,
    blobs,
    clock,
    hands,
    timers,
    state,
    acknowledge,
    submit,
    edit,
    approve,
    changeIdentity,
    elsewhere,
    drain,
    advance,
    run,
    createNode,
    get node() {
      return node;
    },
    useNode(other: Node) {
      node = other;
    },
    answer(...next: typeof answers) {
      answers = next;
    },
    setEvidence(found: typeof evidence) {
      evidence = found;
    },
    /** Moves the clock without firing timers. */
    sleepThrough(by: number) {
      ms += by;
    },
    /** Makes the wall clock jump by this many milliseconds, back if negative. */
    jumpClock(by: number) {
      offMs += by;
    },
    onWrite(work: () => unknown) {
      beforeWriting = work;
    },
    onAnswer(work: () => unknown) {
      beforeAnswering = work;
    },
    /** Sends through this provider; its hand-overs are not recorded in `hands`. */
    sendThrough(other: MailProvider) {
      through = other;
    },
    onConnect(work: () => unknown) {
      onConnecting = work;
    },
    threadId,
    asBeginning: (): Beginning => ({ events: log.all, contents, timers, position, ms, ticks }),
    /** Aborts the running handlers, as when the instance stops. Later handlers run. */
    stop() {
      stopping.abort(new Error("shutting down"));
      stopping = new AbortController();
    },
    /** Hands every event of the log to every process again. */
    replayAll() {
      position = 0;
    },
  };
}

export type SendWorld = ReturnType<typeof openSendWorld>;

/** Returns the code with which the work was refused, or "not refused". Rethrows other errors. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Rejected) return error.code;
    throw error;
  }
  return "not refused";
}
