import { expect } from "chai";
import { upcastReads } from "#src/eventStore/upcasting.ts";
import { systemClock } from "#src/platform/clock.ts";
import type { Process } from "#src/processes/process.ts";
import { rewind } from "#src/runtime/work/rewind.ts";
import type { Upcasters } from "#streams/upcast.ts";
import { rule, useWorkTable } from "./support.ts";

describe("the rewind of a database that is older than the event log", () => {
  const table = useWorkTable();

  const seen: string[] = [];
  beforeEach(() => void seen.splice(0));
  const named = (name: string, more: Partial<Process> = {}): Process =>
    rule({ name, ...more, on: { Happened: async ({ data }) => void seen.push(`${name} ${data.number}`) } });
  const processes = [named("looks"), named("tells", { onlyNews: true })];
  const rewound = ({ act = true, skips = ({ onlyNews }: Process): boolean => onlyNews ?? false } = {}) =>
    rewind({ ...table, clock: systemClock, processes, holder: "the operator", skips }, { act });
  const between = async (options?: Parameters<typeof rewound>[0]) => (await rewound(options)).between;
  const stood = async () => (await table.rows("select name, planned from work.planned order by name")) as object[];

  /** Simulates a restored backup: both processes have handled the first event, then more events follow. */
  async function restored(): Promise<number> {
    await table.happen("toy-1", 1);
    const before = table.run(processes);
    await before.idle();
    await before.stop();
    await table.happen("toy-1", 2);
    await table.happen("toy-2", 3);
    return table.store.head();
  }

  it("a rewind does not repeat outside effects of the events between, and hands all other events over once", async () => {
    const head = await restored();
    const events = { events: 2, stood: head - 2 };
    expect(await between()).to.deep.equal([
      { process: "looks", ...events, skipped: false },
      { process: "tells", ...events, skipped: true },
    ]);
    expect(await stood()).to.deep.equal([
      { name: "listeners", planned: head },
      { name: "looks", planned: head },
      { name: "tells", planned: head },
    ]);
    expect((await between()).map((each) => each.events)).to.deep.equal([0, 0]);
    await table.happen("toy-1", 4);
    await table.run(processes).idle();
    expect(seen.sort()).to.deep.equal(["looks 1", "looks 2", "looks 3", "looks 4", "tells 1", "tells 4"]);
  });

  it("a rewind reports what it would do unless told to act, and repeats all if nothing is skipped", async () => {
    await restored();
    const before = await stood();
    expect((await between({ act: false })).map((each) => each.events)).to.deep.equal([2, 2]);
    expect([await stood(), await table.rows("select * from work.items")]).to.deep.equal([before, []]);
    await rewound({ skips: () => false });
    await table.run(processes).idle();
    expect(seen.filter((each) => each.startsWith("tells"))).to.have.members(["tells 1", "tells 2", "tells 3"]);
  });

  it("a rewind passes an unreadable event", async () => {
    const head = await restored();
    const unreadable = (data: { number?: number }) => {
      if (data.number === 2) throw new Error("unreadable");
      return { data };
    };
    const store = upcastReads(table.store, { Happened: { 1: unreadable } } as unknown as Upcasters);
    await rewind(
      { ...table, store, clock: systemClock, processes, holder: "the operator", skips: () => false },
      { act: true },
    );
    expect(await stood()).to.deep.include({ name: "looks", planned: head });
  });

  it("a rewind wakes what was set aside under a stream that moved in between", async () => {
    await table.happen("toy-1", 1);
    let hindered = true;
    const waiting = rule({
      name: "looks",
      on: {
        Happened: async ({ data }) => {
          if (hindered) return { setAside: [{ stream: "installation-main", revision: -1 }] };
          seen.push(`looks ${data.number}`);
        },
      },
    });
    const before = table.run([waiting]);
    await before.idle();
    await before.stop();
    hindered = false;
    await table.happen("installation-main", 1);
    await rewound();
    await table.run([waiting]).idle();
    expect(seen).to.deep.equal(["looks 1"]);
  });

  it("a rewind is refused while an instance plans, and on an empty log", async () => {
    expect(await rewound().catch((error) => error.message)).to.include("The event log is empty");
    await restored();
    const running = table.run(processes);
    await running.idle();
    expect(await rewound().catch((error) => error.message)).to.include("An instance plans");
    await running.stop();
    expect((await rewound()).logIsOlder).to.equal(false);
    expect(await table.rows("select 1 from work.leases where expires_at > now()")).to.deep.equal([]);
  });

  it("a rewind to an older log goes back to its end, and drops only what lost events had planned", async () => {
    const head = await restored();
    await rewound();
    await table.database.query("update work.processes set planned = planned + 1 where name = 'looks'");
    await table.database.query(
      `insert into work.items (process, key, position, stream, revision, due_at) values ('looks', 'toy-9', $1, 'toy-9', 0, '-infinity')`,
      [head + 1],
    );
    await table.database.query("insert into work.checkpoints (name, position) values ('ahead', $1)", [head + 1]);
    await table.database.query(
      "insert into work.read_models (name, version, tables, checkpoint) values ('ahead', 3, '{}', 'ahead')",
    );
    await table.database.query("insert into work.listeners (stream, workspace) values ('rule-lost', 'w')");
    const before = await stood();
    expect([(await rewound({ act: false })).logIsOlder, await stood()]).to.deep.equal([true, before]);
    expect((await rewound()).logIsOlder).to.equal(true);
    expect((await stood()).map((row) => (row as { planned: number }).planned)).to.deep.equal([head, head, head]);
    // The listeners were read again.
    expect(await table.rows("select stream from work.listeners")).to.deep.equal([]);
    expect(await table.rows(`select key from work.items where position > ${head}`)).to.deep.equal([]);
    const checkpoints = await table.rows(
      "select version, position from work.read_models model join work.checkpoints stored on stored.name = checkpoint where model.name = 'ahead'",
    );
    expect(checkpoints).to.deep.equal([{ version: 0, position: 0 }]);
    await table.run(processes).idle();
    expect(seen.sort()).to.deep.equal(["looks 1", "looks 2", "looks 3", "tells 1"]);
  });
});
