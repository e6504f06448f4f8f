import { expect } from "chai";
import fc from "fast-check";
import { createRule, deleteRule, updateRule } from "#src/commands/rules/rules.ts";
import { workingRules } from "#src/commands/rules/workingRules.ts";
import { fold, Rejected } from "#streams/decider.ts";
import { categoryOf, idOf } from "#streams/event.ts";
import { ruleDecider } from "#streams/rule/decider.ts";
import type { RuleSettings, TriggerEvent } from "#streams/rule/events.ts";
import { cause, createSendWorld, type Node, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";
import { emptyReads } from "#test/support/emptyReads.ts";
import { Crashed } from "#test/support/faultyEventStore.ts";
import { sized } from "#test/support/full.ts";

const settings: RuleSettings = {
  ...{ name: "Rule", triggerEvent: "draft.created", conditions: {}, actions: [{ type: "add_tag", tag: "a" }] },
  ...{ status: "active", priority: 1, stopAfterMatch: false, identityId: null, assistantId: null },
};
const triggers = ["draft.created", "email.received"] as const satisfies TriggerEvent[];

/**
 * A change to a workspace's rules. `stalled`: created so slowly that its slot seems abandoned to other instances, and then completed after
 * all.
 */
type Step =
  | { does: "create" | "stalled"; priority: number }
  | { does: "cut off" | "delete" }
  | { does: "change"; nth: number; changes: Partial<RuleSettings> }
  | { does: "plan"; allows: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ does: fc.constant("create" as const), priority: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 2, arbitrary: fc.record({ does: fc.constantFrom("cut off" as const, "delete" as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({ does: fc.constant("stalled" as const), priority: fc.integer({ min: 1, max: 3 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        does: fc.constant("change" as const),
        nth: fc.nat(9),
        changes: fc.record(
          {
            status: fc.constantFrom("active" as const, "inactive" as const),
            triggerEvent: fc.constantFrom(...triggers),
            priority: fc.integer({ min: 1, max: 3 }),
          },
          { requiredKeys: [] },
        ),
      }),
    },
    { weight: 2, arbitrary: fc.record({ does: fc.constant("plan" as const), allows: fc.integer({ min: 0, max: 6 }) }) },
  ),
  { minLength: 3, maxLength: 14 },
);

/** Returns the rules that exist by their own events, in the order in which they took their slots. */
function rulesInLog({ log }: SendWorld) {
  const streams = [...new Set(log.all.map(({ stream }) => stream))].filter((each) => categoryOf(each) === "rule");
  const placed = log.all.flatMap(({ type, data }) => (type === "SlotTaken" ? [data.holderId as string] : []));
  return streams
    .map((stream) => {
      const events = log.all.filter((event) => event.stream === stream);
      return { ...fold(ruleDecider, events as never[]), id: idOf(stream) };
    })
    .filter(({ deleted }) => !deleted)
    .sort((one, other) => placed.lastIndexOf(one.id) - placed.lastIndexOf(other.id));
}

const ignoring = (code: string) => (error: unknown) => {
  if (!(error instanceof Rejected) || error.code !== code) throw error;
};

async function take(world: SendWorld, step: Step): Promise<void> {
  const { node } = world;
  const made = (on: Node, priority: number) =>
    createRule(on, { workspaceId, given: { ...settings, priority } }, cause).then(
      () => undefined,
      ignoring("plan_limit_reached"),
    );
  const known = rulesInLog(world);
  await world.advance(1_000);
  if (step.does === "create") await made(node, step.priority);
  if (step.does === "cut off") {
    const dying = world.createNode({ at: 1, when: "after", how: "crash" });
    await made(dying, 1).catch((error) => {
      if (!(error instanceof Crashed)) throw error;
    });
  }
  if (step.does === "stalled") {
    const slow = world.createNode();
    const { reached, release } = slow.faulty.pause("rule");
    const making = made(slow, step.priority);
    await Promise.race([reached, making]);
    await world.advance(11 * 60_000);
    await made(node, 1);
    // The log shows no order of slots that were taken in the same millisecond.
    await world.advance(1_000);
    release();
    await making;
  }
  if (step.does === "plan") node.settings.planLimits!.builder_pack.rules = step.allows;
  const rule = known[step.does === "change" ? step.nth : 0];
  if (rule === undefined) return;
  const named = { workspaceId, ruleId: rule.id };
  if (step.does === "change") await updateRule(node, { ...named, changes: step.changes }, cause);
  if (step.does === "delete") await deleteRule(node, named, cause);
}

describe("the active rules of a workspace [d9 plan]", () => {
  it("the active rules are the existing ones up to the plan's cap, after any cut, delay or change", async () => {
    const seen = { "above the cap": 0, working: 0 };
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const world = await createSendWorld();
        const elsewhere = world.createNode();
        for (const step of taken) {
          await take(world, step);
          const cap = world.node.settings.planLimits!.builder_pack.rules ?? 0;
          const all = rulesInLog(world);
          const works = all.slice(0, cap).filter(({ status }) => status === "active");
          seen.working += works.length;
          seen["above the cap"] += Math.max(0, all.length - cap);
          works.sort((one, other) => one.priority - other.priority || (one.id < other.id ? -1 : 1));
          // One instance has the change in its cache; the other one has to detect it.
          for (const node of [world.node, elsewhere]) {
            const rules = await workingRules({ ...node, reads: emptyReads }, workspaceId);
            for (const trigger of triggers)
              expect(rules(trigger), JSON.stringify(taken)).to.deep.equal(
                works.filter(({ triggerEvent }) => triggerEvent === trigger),
              );
          }
        }
      }),
      { numRuns: sized(60, 600) },
    );
    expect(seen.working).to.be.above(100);
    expect(seen["above the cap"]).to.be.above(20);
  });

  it("a rule keeps its place if it begins while its place is being given back as abandoned", async () => {
    const world = await createSendWorld();
    world.node.settings.planLimits!.builder_pack.rules = 1;
    const [slow, other] = [world.createNode(), world.createNode()];
    const beginning = slow.faulty.pause("rule");
    const made = createRule(slow, { workspaceId, given: settings }, cause);
    await beginning.reached;
    await world.advance(11 * 60_000);
    const taking = other.faulty.pause("slots");
    const refused = createRule(other, { workspaceId, given: settings }, cause).catch((error) => error);
    await taking.reached;
    beginning.release();
    const { ruleId } = await made;
    taking.release();
    expect(await refused).to.include({ code: "plan_limit_reached" });
    for (const node of [world.node, slow, other]) {
      const rules = await workingRules(node, workspaceId);
      expect(rules("draft.created").map(({ id }) => id)).to.deep.equal([ruleId]);
    }
  });

  it("a rule made by a repeated request has a place, also after its first place was given back", async () => {
    for (const isFull of [true, false]) {
      const world = await createSendWorld();
      const { node } = world;
      node.settings.planLimits!.builder_pack.rules = 1;
      const asked = { ...cause, operation: "made once" };
      const dying = world.createNode({ at: 1, when: "after", how: "crash" });
      const given = { workspaceId, given: settings };
      expect(await createRule(dying, given, asked).catch((error) => error)).to.be.instanceOf(Crashed);
      await world.advance(11 * 60_000);
      const other = await createRule(node, given, cause);
      if (!isFull) node.settings.planLimits!.builder_pack.rules = 2;
      const again = createRule(world.createNode(), given, { ...asked, repeated: true });
      const made = await again.catch((error) => error);
      if (isFull) expect(made).to.include({ code: "plan_limit_reached" });
      const rules = await workingRules(world.createNode(), workspaceId);
      expect(rules("draft.created").map(({ id }) => id)).to.have.members([
        other.ruleId,
        ...(isFull ? [] : [made.ruleId]),
      ]);
    }
  });

  it("rules and their places are read once each, and deleted rules not at all", async () => {
    const world = await createSendWorld();
    const ids: string[] = [];
    for (let n = 0; n < 3; n++)
      ids.push((await createRule(world.node, { workspaceId, given: settings }, cause)).ruleId);
    // The slot stays taken, as after an interrupted deletion.
    await world.elsewhere().rules.handle(ids[0]!, { type: "DeleteRule" }, cause);
    await workingRules(world.node, workspaceId);
    const read: string[] = [];
    const { readPage } = world.node.faulty;
    world.node.faulty.readPage = (stream, stretch) => {
      read.push(stream);
      return readPage(stream, stretch);
    };
    const rules = await workingRules(world.node, workspaceId);
    expect(rules("draft.created").map(({ id }) => id)).to.have.members(ids.slice(1));
    expect(read.filter((stream) => categoryOf(stream) === "rule")).to.have.members(
      ids.slice(1).map((id) => `rule-${id}`),
    );
    expect(read.filter((stream) => categoryOf(stream) === "slots")).to.have.length(1);
  });
});
