import { expect } from "chai";
import { hasEffectMark } from "#src/commands/effectMarks.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { systemClock, systemIds } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import { workspaceCreated } from "#test/support/examples/index.ts";
import { faultyEventStore } from "#test/support/faultyEventStore.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";

const cause = {
  actor: { kind: "system", id: "test" } as const,
  workspaceId: null,
  correlationId: "c",
  causationId: "c",
};
const create = { type: "CreateWorkspace", workspace: workspaceCreated() } as const;
const createKey = {
  type: "CreateApiKey",
  ...{ workspaceId: "1", name: "key", prefix: "cs_live_", hash: "hash", scopes: [] },
} as const;
const rename = (name: string) => ({ type: "UpdateWorkspace", name }) as const;

describe("the handling of a command", () => {
  const world = () => {
    const log = createMemoryEventStore();
    const faulty = faultyEventStore(log);
    const instance = (store = faulty as typeof log | typeof faulty) =>
      createStreamServices({ store, clock: systemClock, ids: systemIds });
    return { log, faulty, instance };
  };

  it("a command is folded and decided again if another instance was faster", async () => {
    const { log, instance } = world();
    const [one, two] = [instance(), instance()];
    await one.workspaces.handle("1", create, cause);
    await two.workspaces.load("1");
    await one.workspaces.handle("1", rename("B"), cause);
    const { state, revision } = await two.workspaces.handle("1", rename("C"), cause);
    expect({ name: state.name, revision }).to.deep.equal({ name: "C", revision: 2 });
    expect(log.all.map((event) => event.type)).to.deep.equal([
      "WorkspaceCreated",
      "WorkspaceRenamed",
      "WorkspaceRenamed",
    ]);
  });

  it("a stale cached state neither refuses a command nor lets it pass as already done", async () => {
    const { instance } = world();
    const [one, two] = [instance(), instance()];
    const refused = await two.workspaces.handle("1", rename("B"), cause).catch((error) => error);
    expect(refused).to.be.instanceOf(Rejected);
    await one.workspaces.handle("1", create, cause);
    expect((await two.workspaces.handle("1", rename("B"), cause)).changed).to.equal(true);
    await one.workspaces.handle("1", rename("C"), cause);
    expect((await two.workspaces.handle("1", rename("B"), cause)).changed).to.equal(true);
  });

  it("200 parallel commands to one stream take 200 appends", async () => {
    const { log, faulty, instance } = world();
    const { quotas } = instance();
    const reserve = (n: number) => ({ type: "ReserveQuota", reservationId: `${n}`, cap: 150 }) as const;
    const all = [...Array(200).keys()].map((n) => quotas.handle("quota-1", reserve(n), cause));
    const settled = await Promise.allSettled(all);
    expect(settled.filter(({ status }) => status === "fulfilled")).to.have.length(150);
    expect(faulty.appends).to.equal(150);
    expect(log.all.map((event) => event.revision)).to.deep.equal([...Array(150).keys()]);
  });

  it("a cap holds across instances", async () => {
    const { log, instance } = world();
    const instances = [instance(), instance(), instance()];
    const all = [...Array(60).keys()].map((n) =>
      instances[n % 3]!.quotas.handle("quota-1", { type: "ReserveQuota", reservationId: `${n}`, cap: 20 }, cause),
    );
    await Promise.allSettled(all);
    expect(log.all).to.have.length(20);
  });

  it("a command under a revoked key appends nothing and is answered unauthorized", async () => {
    const { log, instance } = world();
    const { apiKeys, workspaces } = instance();
    await workspaces.handle("1", create, cause);
    const keyGuard = { stream: "apiKey-1", revision: -1 };
    await workspaces.handle("1", rename("B"), { ...cause, keyGuard });
    await apiKeys.handle("1", createKey, cause);
    const refused = await workspaces.handle("1", rename("C"), { ...cause, keyGuard }).catch((error) => error);
    expect(refused).to.be.instanceOf(Rejected).with.property("code", "unauthorized");
    expect(log.all.filter((event) => event.stream === "workspace-1")).to.have.length(2);
    expect(log.all[1]!.metadata).not.to.have.property("keyGuard");
  });

  it("an unknown outcome is passed on, and the next command finds out what happened", async () => {
    for (const when of ["before", "after"] as const) {
      const log = createMemoryEventStore();
      const store = faultyEventStore(log, { at: 1, when, how: "unavailable" });
      const { workspaces } = createStreamServices({ store, clock: systemClock, ids: systemIds });
      const failure = await workspaces.handle("1", create, cause).catch((error) => error);
      expect(failure).to.be.instanceOf(Unavailable);
      await workspaces.handle("1", create, cause);
      expect(log.all).to.have.length(1);
    }
  });

  describe("a command under an operation", () => {
    const under = (operation: string) => ({ ...cause, operation });
    const again = (operation: string) => ({ ...under(operation), repeated: true });

    it("an operation marks its events, and a repetition that finds its own effect decides nothing", async () => {
      const { log, instance } = world();
      const { workspaces } = instance();
      await workspaces.handle("1", create, cause);
      await workspaces.handle("1", rename("B"), under("o1"));
      await workspaces.handle("1", rename("C"), cause);
      const { state, changed, revision } = await instance().workspaces.handle("1", rename("B"), again("o1"));
      expect({ name: state.name, changed, revision }).to.deep.equal({ name: "C", changed: true, revision: 2 });
      expect(log.all.map(({ metadata }) => metadata.operation)).to.deep.equal([
        undefined,
        "o1/UpdateWorkspace",
        undefined,
      ]);
    });

    it("a repetition does what an interrupted run did not, and ignores effects of other operations and commands", async () => {
      const { log, instance } = world();
      const { workspaces } = instance();
      await workspaces.handle("1", create, under("o1"));
      await workspaces.handle("1", rename("B"), under("o2"));
      const { state } = await workspaces.handle("1", rename("C"), again("o1"));
      expect([state.name, log.all.length]).to.deep.equal(["C", 3]);
    });

    it("an operation's effect is searched from the end of a long stream, not before the operation began", async () => {
      const { log, instance } = world();
      const { workspaces } = instance();
      await workspaces.handle("1", create, under("o0"));
      const { metadata } = log.all[0]!;
      const renamed = (n: number, at: string) => ({
        ...{ id: systemIds.uuid(), type: "WorkspaceRenamed", data: { name: `N${n}` } },
        metadata: { ...metadata, operation: `o${n}/UpdateWorkspace`, at },
      });
      const begunAt = "2026-03-01T12:00:00.000Z";
      const before = Array.from({ length: 3_000 }, (_, n) => renamed(n, "2026-02-01T12:00:00.000Z"));
      const since = Array.from({ length: 600 }, (_, n) => renamed(3_000 + n, "2026-03-01T11:30:00.000Z"));
      await log.append("workspace-1", 0, [...before, ...since]);
      const asked: number[] = [];
      const store = {
        ...log,
        async readPage(...[stream, stretch]: Parameters<typeof log.readPage>) {
          asked.push(stretch.from);
          return log.readPage(stream, stretch);
        },
      };
      const marks = { found: "o3000", missing: "none", tooOld: "o2500" };
      const holds = (operation: string, since: string | undefined) =>
        hasEffectMark(
          store,
          { stream: "workspace-1", revision: 3_600 },
          { mark: `${operation}/UpdateWorkspace`, begunAt: since },
        );
      expect([await holds(marks.found, begunAt), asked.splice(0)]).to.deep.equal([true, [3_101, 2_601]]);
      expect([await holds(marks.missing, begunAt), asked.splice(0)]).to.deep.equal([false, [3_101, 2_601]]);
      expect(await holds(marks.tooOld, begunAt)).to.equal(false);
      asked.splice(0);
      // If the beginning of the operation is unknown, no event is skipped; a page that is shortened by its bytes leaves no gap.
      store.readPage = (stream, { from, events }) =>
        log.readPage(stream, { from, events: Math.min(events, 7), bytes: 1e9 });
      expect([
        await holds("o1", undefined),
        await holds("o0", undefined),
        await holds("none", undefined),
      ]).to.deep.equal([true, true, false]);
    });

    it("a repetition and a first run that continues after all append once", async () => {
      const { log, instance } = world();
      const [first, second] = [instance(), instance()];
      await first.workspaces.handle("1", create, cause);
      await Promise.all([
        first.workspaces.handle("1", rename("B"), under("o1")),
        second.workspaces.handle("1", rename("B"), again("o1")),
      ]);
      expect(log.all).to.have.length(2);
    });
  });
});
