import { expect } from "chai";
import { startMail, startSender } from "#test/mail/in/smtpSender.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";
import { openTenant } from "#test/support/story/story.ts";
import { freePort } from "../../../scripts/support/freePort.ts";

describe("/metrics", () => {
  let service: InProcess;
  let smtpPort: number;
  before(async () => {
    smtpPort = await freePort();
    // This machine is not a trusted relay here, so its mail has a budget.
    const strict = { SMTP_IN_RELAYS: "192.0.2.1", SMTP_IN_BUDGET: "2,1" };
    service = await startInProcess({ SMTP_IN_PORT: String(smtpPort), ...strict });
  });
  after(() => service.stop());

  const shown = async (): Promise<string> => (await fetch(`${service.url}/metrics`)).text();
  /** Returns the value of the first series with these labels, in any order. */
  const value = (text: string, name: string, labels: Record<string, string | number> = {}): number | undefined => {
    for (const line of text.split("\n")) {
      const [, series, given = "", number] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const all = Object.entries(labels).every(([label, wanted]) => given.includes(`${label}="${wanted}"`));
      if (series === name && all) return Number(number);
    }
    return undefined;
  };

  it("/metrics needs no key, and is in the format of Prometheus", async () => {
    const response = await fetch(`${service.url}/metrics`);
    expect(response.status).to.equal(200);
    expect(response.headers.get("content-type")).to.match(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    expect(value(text, "process_resident_memory_bytes")).to.be.greaterThan(1e6);
    expect(text).to.contain("nodejs_eventloop_lag_seconds");
  });

  it("requests are counted by method, route and status, and invented paths and methods make no series", async () => {
    const { ask } = await service.workspace();
    const count = "countersign_http_request_duration_seconds_count";
    const labels = { method: "GET", route: "/v1/threads/:thread_id", status: 404 };
    const route = /route="(\/v1\/threads\/:\w+)"/;
    await ask("GET /v1/threads/0193a0aa-0000-7000-8000-00000000dead");
    const { route: _, ...rest } = labels;
    const known = route.exec(await shown())![1]!;
    const before = value(await shown(), count, { ...rest, route: known })!;
    await ask("GET /v1/threads/0193a0aa-0000-7000-8000-00000000beef");
    expect(value(await shown(), count, { ...rest, route: known })).to.equal(before + 1);
    await ask("GET /v1/made-up");
    await fetch(`${service.url}/made-up`, { method: "PROPFIND" });
    const text = await shown();
    expect(value(text, count, { method: "GET", route: "unknown", status: 404 })).to.be.greaterThan(0);
    expect(value(text, count, { method: "other", route: "unknown", status: 404 })).to.equal(1);
    expect(text).not.to.contain("made-up").and.not.to.contain("dead");
  });

  it("mail that is refused temporarily is counted by reason", async () => {
    const { address } = await service.identity((await service.workspace()).id);
    const refusals = async (reason: string) => value(await shown(), "countersign_mail_refused_total", { reason }) ?? 0;
    for (const n of [1, 2]) {
      const sender = await startMail(smtpPort, [address]);
      expect(await sender.say(`Message-ID: <${n}@budget.example>\r\n\r\nx\r\n.`)).to.match(/^250/);
    }
    const sender = await startSender(smtpPort);
    await sender.say("EHLO a");
    await sender.say("MAIL FROM:<ann@customer.example>");
    expect(await sender.say(`RCPT TO:<${address}>`)).to.match(/^452/);
    expect([await refusals("budget"), await refusals("disk")]).to.deep.equal([1, 0]);
  });

  it("/metrics shows appends, deliveries by outcome, pending drafts and the lag of projections and processes", async () => {
    const tenant = await openTenant(service);
    const draft = await tenant.draft(await tenant.mail());
    const waiting = async () => {
      const text = await shown();
      return ["countersign_drafts_pending", "countersign_drafts_oldest_pending_seconds"].map((name) =>
        value(text, name),
      );
    };
    await service.database.transaction(async (tx) => {
      await tx.query("select set_config('countersign.workspace', '*', true)");
      await tx.query("update drafts set pending_since = now() - interval '10 minutes'");
    });
    const [pending, oldest] = await waiting();
    expect(pending).to.equal(1);
    expect(oldest).to.be.within(600, 3_600);
    await draft.sendNow();
    await service.caughtUp();
    expect(await waiting()).to.deep.equal([0, 0]);
    const text = await shown();
    expect(value(text, "countersign_append_duration_seconds_count", { outcome: "done" })).to.be.greaterThan(5);
    expect(value(text, "countersign_events_appended_total", { type: "DraftSubmitted" })).to.equal(1);
    expect(value(text, "countersign_deliveries_total", { outcome: "accepted" })).to.equal(1);
    expect(value(text, "countersign_state_cache_bytes")).to.be.within(1_000, 32_000_000);
    expect(value(text, "countersign_projection_lag", { projection: "drafts" })).to.be.a("number");
    for (const process of ["deliver", "listeners"])
      expect(value(text, "countersign_process_lag", { process })).to.be.a("number");
    expect(value(text, "countersign_drafts_sending")).to.equal(0);
    expect(value(text, "countersign_webhook_deliveries_pending")).to.equal(0);
  });

  it("/metrics shows the current numbers of parked, due, running and set aside jobs of each process", async () => {
    const { database } = service;
    expect(value(await shown(), "countersign_parked", { process: "ghost" })).to.equal(undefined);
    await database.query(
      "insert into work.parked (process, key, position, item, error, tries, parked_at) values ('ghost', 'k', 1, '{}', 'e', 1, now())",
    );
    await database.query(
      "insert into work.items (process, key, timer, due_at, payload) select 'ghost', n::text, 't', now(), '{}' from generate_series(1, 3) n",
    );
    await database.query(
      `insert into work.lanes (process, key, workspace, state, due_at, obstacles) values
         ('ghost', 'a', '', 'waiting', 'infinity', '{workspace-1}'), ('ghost', 'b', '', 'waiting', 'infinity', '{workspace-1}'),
         ('ghost', 'c', '', 'ready', '-infinity', null), ('idle', 'a', '', 'claimed', '-infinity', null)`,
    );
    const text = await shown();
    expect(value(text, "countersign_lanes_set_aside", { process: "ghost" })).to.equal(2);
    expect(value(text, "countersign_lanes_ready", { process: "ghost" })).to.equal(1);
    expect(value(text, "countersign_lanes_running", { process: "ghost" })).to.equal(0);
    await database.query("delete from work.lanes where process in ('ghost', 'idle')");
    expect(value(text, "countersign_parked", { process: "ghost" })).to.equal(1);
    expect(value(text, "countersign_timers_due", { process: "ghost" })).to.equal(3);
    await database.query("delete from work.parked");
    await database.query("delete from work.items where process = 'ghost'");
    expect(value(await shown(), "countersign_parked", { process: "ghost" })).to.equal(undefined);
  });

  it("the oldest ready lane's age is counted from the moment it became ready", async () => {
    const { database } = service;
    const oldest = async (process: string) =>
      value(await shown(), "countersign_lanes_oldest_ready_seconds", { process });
    await database.query(
      `insert into work.lanes (process, key, workspace, state, due_at, ready_at) values
         ('ghost', 'a', '', 'ready', '-infinity', now() - interval '10 minutes'),
         ('ghost', 'b', '', 'waiting', 'infinity', now() - interval '9 hours'),
         ('idle', 'a', '', 'waiting', 'infinity', now() - interval '9 hours')`,
    );
    expect(await oldest("ghost")).to.be.within(600, 3_600);
    expect(await oldest("idle")).to.equal(0);
    await database.query("update work.lanes set state = 'ready' where process in ('ghost', 'idle')");
    expect(await oldest("ghost")).to.be.within(600, 3_600);
    expect(await oldest("idle")).to.be.within(0, 3_600);
    await database.query("delete from work.lanes where process in ('ghost', 'idle')");
  });
});
