import { expect } from "chai";
import type { BackgroundDatabase, Sql } from "#src/platform/postgres/database.ts";
import { recordCompletions } from "#src/runtime/work/completions.ts";
import type { LaneClaim } from "#src/runtime/work/lane.ts";
import { maxTimersPerTransaction, type TimerChange } from "#src/runtime/work/timerChanges.ts";
import { eventually } from "../projections/support.ts";
import { faultyDatabase } from "./faultyDatabase.ts";
import { rule, useWorkTable } from "./support.ts";

const now = new Date("2026-01-01T00:00:00Z");
const keysOf = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `toy-${String(n).padStart(5, "0")}`);
const setting = (key: string, more: { name?: string; inMs?: number } = {}): TimerChange => ({
  set: { key, name: more.name ?? "later", dueAt: new Date(now.getTime() + (more.inMs ?? 60_000)), payload: {} },
});

describe("an ending that sets many timers under other keys", () => {
  const work = useWorkTable();

  async function claimed(key: string): Promise<LaneClaim> {
    const { rows } = await work.database.query<LaneClaim>(
      `insert into work.lanes (process, key, workspace, state, turn, claim, holder, claimed_until)
       values ('toyRule', $1, 'w', 'claimed', 1, gen_random_uuid(), 'here', now() + interval '1 hour')
       returning process, key, workspace, claim, generation`,
      [key],
    );
    return rows[0]!;
  }

  /** Wraps the database and records the statements of each transaction. */
  function listening(): { database: BackgroundDatabase; asked: string[][] } {
    const asked: string[][] = [];
    const { database } = work;
    const transaction: BackgroundDatabase["transaction"] = (inner) => {
      const statements: string[] = [];
      asked.push(statements);
      return database.transaction((tx) => {
        const query: Sql["query"] = (text: string, values?: readonly unknown[]) => {
          statements.push(text);
          return tx.query(text, values) as never;
        };
        return inner({ ...tx, query });
      });
    };
    return { database: { ...database, transaction }, asked };
  }

  it("5,000 timers of an ending are stored by as few statements as one", async () => {
    const statementsFor = async (lane: LaneClaim, timers: TimerChange[]): Promise<number> => {
      const { database, asked } = listening();
      const { held } = await recordCompletions(database, [{ lane, timers }], now);
      expect([...held]).to.deep.equal([lane.claim]);
      expect(asked).to.have.length(1);
      return asked[0]!.length;
    };
    const one = await statementsFor(await claimed("one"), [setting("toy-alone")]);
    const many = await statementsFor(
      await claimed("many"),
      keysOf(5_000).map((key) => setting(key)),
    );
    expect(many).to.equal(one);
    expect(
      await work.rows("select count(*) from work.items where timer = 'later' and key <> 'toy-alone'"),
    ).to.deep.equal([{ count: 5_000 }]);
    const waiting = `select count(*) from work.lanes join work.items using (process, key)
      where state = 'waiting' and workspace = 'w' and lanes.due_at = items.due_at`;
    expect(await work.rows(waiting)).to.deep.equal([{ count: 5_001 }]);
  });

  it("timers have the last value that any of several lanes set, and leave no lane without anything to do", async () => {
    const [one, other] = [await claimed("one"), await claimed("other")];
    await work.database.query(
      `insert into work.lanes (process, key, workspace, state, due_at) values ('toyRule', 'toy-there', 'w', 'waiting', $1)`,
      [new Date(now.getTime() + 5_000)],
    );
    const endings = [
      { lane: one, timers: [setting("toy-a"), setting("toy-b"), setting("toy-there", { inMs: 9_000 })] },
      { lane: other, timers: [{ cancel: "toy-a", name: "later" }, setting("toy-b", { inMs: 7 }), setting("other")] },
      { lane: one, timers: [setting("toy-b", { name: "more", inMs: 3 }), { cancel: "toy-c", name: "later" }] },
    ];
    await recordCompletions(work.database, endings, now);
    const inMs = "(extract(epoch from due_at) * 1000 - $1)::integer as in_ms".replace("$1", String(now.getTime()));
    expect(await work.rows(`select key, timer, ${inMs} from work.items order by key, timer`)).to.deep.equal([
      { key: "other", timer: "later", in_ms: 60_000 },
      { key: "toy-b", timer: "later", in_ms: 7 },
      { key: "toy-b", timer: "more", in_ms: 3 },
      { key: "toy-there", timer: "later", in_ms: 9_000 },
    ]);
    const lanes = `select key, generation, ${inMs} from work.lanes where state = 'waiting' order by key`;
    expect(await work.rows(lanes)).to.deep.equal([
      { key: "toy-b", generation: 2, in_ms: 3 },
      { key: "toy-there", generation: 2, in_ms: 5_000 },
    ]);
    expect(
      await work.rows("select key, generation from work.lanes where state = 'claimed' order by key"),
    ).to.deep.equal([one, other].map(({ key, generation }) => ({ key, generation })));
  });

  it("timers of an ending are stored with their lanes, also next to a lane that lost its claim", async () => {
    const [one, lost] = [await claimed("one"), await claimed("lost")];
    await work.database.query("update work.lanes set claim = gen_random_uuid() where key = 'lost'");
    const takenBack = { lane: lost, timers: [{ cancel: "toy-a", name: "later" }] };
    await recordCompletions(work.database, [{ lane: one, timers: [setting("toy-a")] }, takenBack], now);
    const both = "select key from work.lanes join work.items using (process, key) where state = 'waiting'";
    expect(await work.rows(both)).to.deep.equal([{ key: "toy-a" }]);
  });

  /** Sets one timer for each of `count` keys, and counts how often each is called. */
  function telling(count: number) {
    const told = new Map<string, number>();
    const process = rule({
      on: {
        async Happened(_, { timers }) {
          for (const key of keysOf(count)) await timers.set({ key, name: "told", inMs: 0 });
        },
      },
      onTimer: async ({ key }) => {
        told.set(key, (told.get(key) ?? 0) + 1);
      },
    });
    return { process, told };
  }

  it("timers of an ending are stored in parts, so that no transaction is long, and each is handled once", async () => {
    const { process, told } = telling(maxTimersPerTransaction + 1);
    const { database, asked } = listening();
    const runner = work.run([process], { database });
    await work.happen("toy-all", 1);
    await runner.idle();
    await eventually(() => told.size === maxTimersPerTransaction + 1);
    const storing = asked.filter((statements) =>
      statements.some((text) => text.includes("insert into work.items as item")),
    );
    expect(storing).to.have.length(2);
    expect([...told.values()].every((times) => times === 1)).to.equal(true);
  });

  it("all timers of an ending are stored after a crash between two parts", async () => {
    const { process, told } = telling(maxTimersPerTransaction + 1);
    const faulty = faultyDatabase(work.database);
    const dying = work.run([process], { database: faulty.database });
    await dying.idle();
    const stopped = faulty.stopAt("insert into work.lanes as lane (process, key, workspace, state, due_at)", "after");
    await work.happen("toy-all", 1);
    await stopped;
    // The first part of the timers is stored, the second is not.
    const next = faulty.stopAt("insert into work.lanes as lane (process, key, workspace, state, due_at)", "before");
    faulty.goOn();
    await next;
    faulty.die();
    await work.database.query("update work.lanes set claimed_until = '-infinity' where holder is not null");
    work.run([process]);
    await eventually(() => told.size === maxTimersPerTransaction + 1);
  });
});
