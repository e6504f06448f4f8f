import { expect } from "chai";
import type { Process } from "#src/processes/process.ts";
import { sized } from "#test/support/full.ts";
import { eventually } from "../projections/support.ts";
import { rule, useWorkTable } from "./support.ts";

const many = sized(600, 10_000);

describe("timers that are due at once", () => {
  const { run, rows } = useWorkTable();

  it(`${many} due timers of one workspace fire once each, in two instances, and delay no other workspace`, async () => {
    await rows(
      `insert into work.items (process, key, timer, payload, due_at)
       select 'toyRule', 'toy-' || n, 'escalate', '{}'::json, now() - interval '1 s' from generate_series(1, ${many}) n
       union all select 'toyRule', 'single', 'escalate', '{}'::json, now() - interval '900 ms'`,
    );
    await rows(
      `insert into work.lanes (process, key, workspace, state, due_at)
       select process, key, case when key = 'single' then 'another' else 'flood' end, 'waiting', due_at from work.items`,
    );
    const fired: string[] = [];
    const process: Process = rule({ concurrency: 16, on: {}, onTimer: async ({ key }) => void fired.push(key) });
    run([process]);
    run([process]);
    await eventually(() => fired.length > many);
    await eventually(async () => (await rows("select 1 from work.lanes limit 1")).length === 0);
    expect(fired).to.have.length(many + 1);
    expect(new Set(fired).size).to.equal(many + 1);
    expect(fired.indexOf("single")).to.be.below(many * 0.6);
  });
});

describe("many lanes that one workspace has set aside", () => {
  const { run, rows, happen } = useWorkTable();

  it(`${many} set-aside lanes are handled once each after their obstacle ends, in two instances, and delay no other`, async () => {
    await rows("insert into work.tags (stream, revision) values ('workspace-1', -1)");
    await rows(
      `insert into work.items (process, key, timer, payload, due_at)
       select 'toyRule', 'toy-' || n, 'send', '{}'::json, now() - interval '1 s' from generate_series(1, ${many}) n`,
    );
    await rows(
      `insert into work.lanes (process, key, workspace, state, due_at)
       select process, key, 'flood', 'waiting', 'infinity' from work.items`,
    );
    await rows("update work.lanes set obstacles = array['workspace-1']");
    const left: string[] = [];
    const process: Process = rule({
      concurrency: 16,
      on: { Happened: async ({ stream }) => void left.push(stream) },
      onTimer: async ({ key }) => void left.push(key),
    });
    const runners = [run([process]), run([process])];
    await happen("toy-before", 1);
    await eventually(() => left.length === 1);
    await happen("workspace-1", 1);
    await happen("toy-beside", 1);
    await eventually(() => left.length > many + 1);
    await Promise.all(runners.map((runner) => runner.idle()));
    expect(left).to.have.length(many + 2);
    expect(new Set(left).size).to.equal(many + 2);
    expect(left[0]).to.equal("toy-before");
    expect(left.indexOf("toy-beside")).to.be.below(many * 0.6);
    expect(await rows("select 1 from work.lanes limit 1")).to.deep.equal([]);
  });
});
