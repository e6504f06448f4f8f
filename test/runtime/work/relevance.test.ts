import { expect } from "chai";
import type { EventStore, NewEvent } from "#src/eventStore/eventStore.ts";
import type { Process } from "#src/processes/process.ts";
import { createRandom } from "../../../scripts/support/random.ts";
import { sized } from "../../support/full.ts";
import { append, newEvent } from "../projections/support.ts";
import { rule, useWorkTable } from "./support.ts";

const workspaces = ["w1", "w2", "w3"];

describe("events that no process needs", () => {
  const work = useWorkTable();
  const { rows } = work;

  const inWorkspace = (workspaceId: string, type: string, number = 0): NewEvent => {
    const event = newEvent(type, { number });
    return { ...event, metadata: { ...event.metadata, workspaceId } };
  };

  /** Returns the numbers of the events that a process's handler was called with. */
  function listening(concerns: Process["concerns"], name = "toyRule") {
    const seen: number[] = [];
    const on = { Happened: async ({ data }: { data: { number: number } }) => void seen.push(data.number) };
    return { seen, process: rule({ name, on, ...(concerns && { concerns }) }) };
  }
  const whereRulesAre: Process["concerns"] = (_, { rules }) => rules;

  /** Returns how many items were ever created, by creating and deleting one more. */
  const itemsMade = async () => {
    const [item] = await rows(
      "insert into work.items (process, key, timer, due_at) values ('nobody', '', '', 'infinity') returning id",
    );
    await rows("delete from work.items where process = 'nobody'");
    return item!.id - 1;
  };

  it("an event that a process says it does not need has no lane and no item", async () => {
    const { seen, process } = listening(({ data }) => data.number % 2 === 0);
    await work.happen("toy-1", 1, 2, 3, 5);
    await work.happen("toy-odd", 7);
    await work.run([process]).idle();
    expect(seen).to.deep.equal([2]);
    expect(await itemsMade()).to.equal(1);
  });

  it("an event whose relevance cannot be computed is handed over, fails, and is parked", async () => {
    const { process } = listening(({ data }) => (data.nested as { wanted: boolean }).wanted);
    await work.happen("toy-1", 1);
    await work.run([process]).idle();
    expect(await rows("select key from work.parked")).to.deep.equal([{ key: "toy-1" }]);
  });

  it("an event planned earlier that the process does not need any more is not handed over", async () => {
    const { seen, process } = listening(({ data }) => data.number !== 1);
    const position = await work.happen("toy-1", 1);
    await work.database.query("insert into work.processes (name, planned) values ('toyRule', $1)", [position]);
    await work.database.query(
      "insert into work.items (process, key, position, stream, revision, due_at) values ('toyRule', 'toy-1', $1, 'toy-1', 0, '-infinity')",
      [position],
    );
    await work.database.query(
      "insert into work.lanes (process, key, workspace, state) values ('toyRule', 'toy-1', '', 'ready')",
    );
    await work.happen("toy-1", 2);
    await work.run([process]).idle();
    expect(seen).to.deep.equal([2]);
  });

  for (let seed = 1; seed <= sized(2, 40); seed++) {
    it(`a rule sees the events after its creation, and a workspace without rules has none planned (seed ${seed})`, async () => {
      const { below, pick, chance } = createRandom(seed);
      const { seen, process } = listening(whereRulesAre);
      const webhooks = listening((_, { webhooks }) => webhooks, "hookRule");
      const expected = { rule: [] as number[], webhook: [] as number[] };
      const living = new Map<string, { category: "rule" | "webhook"; workspace: string }>();
      const has = (which: string, where: string) =>
        [...living.values()].some(({ category, workspace }) => category === which && workspace === where);
      let made = 0;

      async function step(number: number): Promise<void> {
        if (chance(0.5)) {
          const workspace = pick(workspaces);
          for (const category of ["rule", "webhook"] as const)
            if (has(category, workspace)) expected[category].push(number);
          await append(work.store, `toy-${workspace}`, inWorkspace(workspace, "Happened", number));
          return;
        }
        const [stream, { category, workspace }] = (chance(0.5) ? [...living][below(living.size)] : undefined) ?? [
          ...([
            `new-${++made}`,
            { category: pick(["rule", "webhook"] as const), workspace: pick(workspaces) },
          ] as const),
        ];
        const type = category === "rule" ? "Rule" : "Webhook";
        if (!living.delete(stream)) living.set(stream, { category, workspace });
        const happened = living.has(stream) ? "Created" : "Deleted";
        await append(work.store, `${category}-${stream}`, inWorkspace(workspace, `${type}${happened}`));
      }

      const inOrder = (numbers: readonly number[]) => [...numbers].sort((one, other) => one - other);
      let number = 0;
      for (let round = 0; round < 4; round++) {
        // Some events exist before the plan, some arrive during it; every round uses another instance.
        for (let end = number + 12; number < end; number++) await step(number);
        const runner = work.run([process, webhooks.process]);
        for (let end = number + 12; number < end; number++) await step(number);
        await runner.idle();
        await runner.stop();
        expect(inOrder(seen)).to.deep.equal(expected.rule);
        expect(inOrder(webhooks.seen)).to.deep.equal(expected.webhook);
      }
      expect(await itemsMade()).to.equal(expected.rule.length + expected.webhook.length);
    });
  }

  it("events of a workspace that only ever asked one mailbox for approval are not planned", async () => {
    const { seen, process } = listening((_, { furtherChannels }) => furtherChannels);
    const mailbox = { type: "email", config: { to: "approver@example.com" } };
    const chat = { type: "telegram", config: { chat_id: "1" } };
    let number = 0;
    async function happensIn(workspace: string): Promise<void> {
      const event = newEvent("Happened", { number: ++number });
      await append(work.store, `toy-${workspace}`, {
        ...event,
        metadata: { ...event.metadata, workspaceId: workspace },
      });
    }
    async function identity(workspace: string, type: string, settings: Record<string, unknown>): Promise<void> {
      const data = type === "IdentityUpdated" ? { changes: settings } : settings;
      const event = newEvent(type, data);
      await append(work.store, `identity-${workspace}`, {
        ...event,
        metadata: { ...event.metadata, workspaceId: workspace },
      });
    }
    for (const workspace of workspaces) {
      await identity(workspace, "IdentityCreated", { approvalChannel: mailbox, secondaryApprovalChannel: null });
      await happensIn(workspace);
    }
    await identity("w1", "IdentityUpdated", { approvalChannel: chat });
    await identity("w2", "IdentityUpdated", { secondaryApprovalChannel: mailbox });
    await identity("w3", "IdentityUpdated", { approvalChannel: mailbox, displayName: "Support" });
    for (const workspace of workspaces) await happensIn(workspace);
    // Requests that were made in the chat before are still there.
    await identity("w1", "IdentityUpdated", { approvalChannel: mailbox });
    await identity("w2", "IdentityDeleted", {});
    for (const workspace of workspaces) await happensIn(workspace);
    await identity("w4", "IdentityCreated", { approvalChannel: chat, secondaryApprovalChannel: null });
    await happensIn("w4");
    // It is unknown what this event changed: the log continues, and any channel may have been asked.
    await append(work.store, "identity-w5", inWorkspace("w5", "IdentityUpdated"));
    await happensIn("w5");
    const runner = work.run([process]);
    await runner.idle();
    await runner.stop();
    // Another instance reads the listeners from the database.
    for (const workspace of workspaces) await happensIn(workspace);
    await work.run([process]).idle();
    expect([...seen].sort((one, other) => one - other)).to.deep.equal([4, 5, 7, 8, 10, 11, 12, 13]);
  });

  it("an event is planned by an instance that does not know all listeners yet, and for a process that is behind", async () => {
    const first = listening(whereRulesAre);
    await append(work.store, "rule-1", inWorkspace("w1", "RuleCreated"));
    await append(work.store, "toy-w1", inWorkspace("w1", "Happened", 1));
    const position = await append(work.store, "toy-w2", inWorkspace("w2", "Happened", 2));
    // The state that an older release leaves: planned up to here, with unknown listeners.
    await work.database.query("insert into work.processes (name, planned) values ('toyRule', $1)", [position]);
    await append(work.store, "toy-w1", inWorkspace("w1", "Happened", 3));
    const runner = work.run([first.process]);
    await runner.idle();
    expect(first.seen).to.deep.equal([3]);
    await append(work.store, "rule-1", inWorkspace("w1", "RuleDeleted"));
    await append(work.store, "toy-w1", inWorkspace("w1", "Happened", 4));
    await runner.idle();
    expect(first.seen).to.deep.equal([3]);
    await runner.stop();
    const late = listening(whereRulesAre, "lateRule");
    await work.run([first.process, late.process]).idle();
    expect(late.seen).to.include.members([1, 3]);
  });

  it("a new database on an old log plans only needed events, and all processes from the start read it together", async () => {
    const [asks, alsoAsks] = [listening(whereRulesAre), listening(whereRulesAre, "otherRule")];
    const fromNow = { ...listening(undefined, "fromNow").process, begins: "now" } as const;
    await append(work.store, "toy-w1", inWorkspace("w1", "Happened", 1));
    await append(work.store, "rule-1", inWorkspace("w1", "RuleCreated"));
    await append(work.store, "toy-w1", inWorkspace("w1", "Happened", 2));
    const head = await append(work.store, "toy-w2", inWorkspace("w2", "Happened", 3));
    const readAfter: number[] = [];
    const subscribe: EventStore["subscribe"] = (options) => {
      readAfter.push(options.after);
      return work.store.subscribe(options);
    };
    const store = { ...work.store, subscribe };
    await work.run([asks.process, alsoAsks.process, fromNow], { store }).idle();
    expect([asks.seen, alsoAsks.seen]).to.deep.equal([[2], [2]]);
    expect(readAfter.sort()).to.deep.equal([0, head]);
  });
});
