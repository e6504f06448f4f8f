import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import pg from "pg";
import { connectDatabase } from "#src/platform/postgres/database.ts";
import { runHere } from "#test/support/commandHere.ts";
import { inFull } from "#test/support/full.ts";
import { until } from "#test/support/inProcess.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { commandArguments } from "../../scripts/support/childProcess.ts";

const noId = "0193a0aa-0000-7000-8000-00000000dead";

describe("npm run workspace", () => {
  let database: TestDatabase;
  let dataDir: string;
  let service: SecondInstance | undefined;
  before(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), "countersign-workspace-"));
  });
  after(async () => {
    await service?.stop();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const environment = () => ({
    DATA_DIR: dataDir,
    DATABASE_URL: database.serviceUrl,
    DATABASE_OWNER_URL: database.ownerUrl,
  });

  async function asProcess(...args: string[]) {
    const child = spawn(process.execPath, [...commandArguments("workspace"), ...args], {
      cwd: tmpdir(),
      env: { PATH: process.env.PATH, ...environment() },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [out, err] = ["", ""];
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.stderr.on("data", (data) => {
      err += data;
    });
    const [code] = await once(child, "close");
    return { code, out, err };
  }
  const inThisProcess = (...args: string[]) => runHere("workspace", args, environment());
  /** Each way in which the command can end runs once in a separate process; the other cases run in this process. */
  const run = inFull ? asProcess : inThisProcess;
  const answerOf = ({ code, out, err }: Awaited<ReturnType<typeof asProcess>>) => {
    expect(code, err).to.equal(0);
    return JSON.parse(out);
  };
  const json = async (...args: string[]) => answerOf(await run(...args));
  const me = async (key: string) => {
    const response = await fetch(`${service!.url}/v1/workspaces/me`, { headers: { Authorization: `Bearer ${key}` } });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };

  it("npm run workspace works where no service has ever run", async () => {
    expect(await json("list")).to.deep.equal([]);
    const made = answerOf(await asProcess("create", "--name", "First"));
    expect(made).to.have.keys("workspace_id", "api_key");
    expect(made.api_key).to.match(/^svc_live_[0-9A-Za-z]{32}$/);
    const [listed] = await json("list");
    expect(listed).to.include({
      workspace_id: made.workspace_id,
      name: "First",
      plan: "builder_pack",
      plan_status: "active",
      beta_override: false,
    });
  });

  it("npm run workspace works next to a running service, which knows the new key at once", async () => {
    service = await startSecondInstance(database, { DATA_DIR: dataDir });
    const { workspace_id, api_key } = await json("create", "--name", "Beside", "--plan", "pro", "--beta");
    await until(async () => (await me(api_key)).status !== 401);
    expect((await me(api_key)).body).to.include({ id: workspace_id, name: "Beside", plan: "pro", beta_override: true });
    // The key is a first key: it has the scopes that other keys get only if they are listed, and can give them.
    const named = await fetch(`${service.url}/v1/api-keys`, {
      method: "POST",
      headers: { Authorization: `Bearer ${api_key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ name: "operator", scopes: ["write:approvals", "write:keys"] }),
    });
    expect(named.status, await named.text()).to.equal(200);
    const set = await json("set-plan", "--workspace", workspace_id, "--status", "past_due", "--beta", "false");
    expect(set).to.include({ plan: "pro", plan_status: "past_due", beta_override: false });
    await until(async () => (await me(api_key)).body.plan_status === "past_due");
    expect((await me(api_key)).body).to.include({ plan: "pro", beta_override: false });
    expect((await json("list")).map(({ name }: { name: string }) => name)).to.include.members(["First", "Beside"]);
  });

  it("npm run workspace waits until a service that is catching up knows of the change", async () => {
    // The watcher has the command's role, because only that role sees the command's statements.
    const [holder, watcher] = [new pg.Client(database.ownerUrl), new pg.Client(database.serviceUrl)];
    await Promise.all([holder.connect(), watcher.connect()]);
    try {
      // The locks keep every instance from writing the read models.
      await holder.query("begin; select 1 from work.checkpoints for update");
      const made = json("create", "--name", "Later");
      const waits = `select 1 from pg_stat_activity where datname = current_database()
        and query like 'select 1 from work.leases where name like ''projections:%'' and%'`;
      await until(async () => (await watcher.query(waits)).rowCount === 1);
      await holder.query("rollback");
      expect((await me((await made).api_key)).status).to.equal(200);
    } finally {
      await Promise.all([holder.end(), watcher.end()]);
    }
  });

  it("npm run workspace sets trial and period like a payment processor, and resets them", async () => {
    const { workspace_id: id } = await json("create", "--name", "Paid", "--plan", "pro");
    const period = ["--period-start", "2026-01-01T00:00:00Z", "--period-end", "2026-02-01T00:00:00+01:00"];
    const set = await json(
      "set-plan",
      "--workspace",
      id,
      "--status",
      "trialing",
      "--trial-ends",
      "2026-01-31",
      ...period,
    );
    expect(set).to.include({
      plan_status: "trialing",
      trial_ends_at: "2026-01-31T00:00:00.000Z",
      current_period_start: "2026-01-01T00:00:00.000Z",
      current_period_end: "2026-01-31T23:00:00.000Z",
    });
    const none = await json("set-plan", "--workspace", id, "--period-start", "none", "--period-end", "none");
    expect(none).to.include({ current_period_start: null, current_period_end: null, plan_status: "trialing" });
  });

  it("npm run workspace starts a period with the plan that it sets, and with nothing else", async () => {
    const { workspace_id: id } = await json("create", "--name", "Upgraded", "--plan", "pro");
    const before = Date.now();
    expect((await json("set-plan", "--workspace", id, "--beta", "true")).months_from).to.equal(null);
    const set = await json("set-plan", "--workspace", id, "--plan", "agency", "--beta", "false");
    expect(Date.parse(set.months_from)).to.be.at.least(before - 1_000);
    const again = await json("set-plan", "--workspace", id, "--status", "past_due");
    expect(again.months_from).to.equal(set.months_from);
    const canceled = await json("set-plan", "--workspace", id, "--plan", "pro", "--status", "canceled");
    expect(Date.parse(canceled.current_period_end)).to.be.greaterThan(Date.parse(canceled.months_from));
  });

  it("npm run workspace invites a first owner and others by links, of which the newest is valid", async () => {
    const made = await json("create", "--name", "Owned", "--owner", "Olga@example.com");
    expect(made).to.have.keys("workspace_id", "api_key", "invited", "role", "invitation");
    expect(made).to.include({ invited: "Olga@example.com", role: "owner" });
    const invited = (email: string, ...more: string[]) =>
      json("invite", "--workspace", made.workspace_id, "--email", email, ...more);
    const again = await invited("olga@example.com");
    expect(again.invitation)
      .to.match(/\/invitation\/[\w-]{43}$/)
      .and.not.to.equal(made.invitation);
    expect(await invited("ann@example.com", "--role", "approver")).to.include({ role: "approver" });
    const sql = connectDatabase(database);
    const members = await sql.query<{ type: string }>(
      "select type from es.events where stream_id = $1 order by revision",
      [`member-${made.workspace_id}`],
    );
    const log = await sql.query("select data::text || metadata::text as text from es.events");
    await sql.close();
    expect(members.rows.map(({ type }) => type)).to.deep.equal(["MemberInvited", "InvitationRenewed", "MemberInvited"]);
    const token = again.invitation.slice(again.invitation.lastIndexOf("/") + 1);
    expect(JSON.stringify(log.rows)).not.to.contain(token);
  });

  for (const [what, args, says] of [
    ["an owner that is no address", ["create", "--name", "x", "--owner", "olga"], "--owner: expected one plain email"],
    [
      "no role",
      ["invite", "--workspace", noId, "--email", "a@example.com", "--role", "king"],
      "--role: expected owner",
    ],
    ["nobody's workspace", ["invite", "--workspace", noId, "--email", "a@example.com"], "There is no workspace"],
    ["nothing", [], "Give a command"],
    ["an unknown plan", ["create", "--name", "x", "--plan", "gold"], "--plan: expected builder_pack, pro, agency"],
    ["an unknown option", ["create", "--name", "x", "--colour", "red"], "--colour"],
    ["no workspace", ["set-plan", "--plan", "pro"], "--workspace: expected a workspace id"],
    ["nothing to set", ["set-plan", "--workspace", "0193a0aa-0000-7000-8000-00000000dead"], "Give something to set"],
    [
      "a time that is none",
      ["set-plan", "--workspace", "0193a0aa-0000-7000-8000-00000000dead", "--trial-ends", "soon"],
      "--trial-ends: expected a time",
    ],
    [
      "a beta that is neither",
      ["set-plan", "--workspace", "0193a0aa-0000-7000-8000-00000000dead", "--beta", "yes"],
      "--beta: expected true, false",
    ],
  ] as const) {
    it(`npm run workspace explains its usage, given ${what}`, async () => {
      const { code, out, err } = await (args.length === 0 ? asProcess : run)(...args);
      expect([code, out]).to.deep.equal([1, ""]);
      expect(err).to.contain(says).and.to.contain("npm run workspace -- create");
    });
  }

  it("npm run workspace says in a sentence that a workspace does not exist", async () => {
    const { code, out, err } = await run(
      "set-plan",
      "--workspace",
      "0193a0aa-0000-7000-8000-00000000dead",
      "--plan",
      "pro",
    );
    expect([code, out, err.trim()]).to.deep.equal([1, "", "no such workspace"]);
  });
});
