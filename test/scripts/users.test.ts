import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import pg from "pg";
import { personOf } from "#src/commands/users/users.ts";
import { operator } from "#test/support/cause.ts";
import { runHere } from "#test/support/commandHere.ts";
import { type Desk, deskOf } from "#test/support/desk.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";
import { createTestDatabase } from "#test/support/postgres.ts";

describe("npm run users", () => {
  let service: InProcess;
  let tenant: Workspace;
  let ann: Desk;
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "countersign-users-"));
    service = await startInProcess();
    tenant = await service.workspace();
    ann = await deskOf(service, tenant.id, { role: "approver", name: "Ann", email: "Ann@people.example" });
  });
  after(async () => {
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const run = (...args: string[]) => {
    const { serviceUrl, ownerUrl } = service.urls;
    const OPERATOR_EMAILS = "boss@people.example,ann@people.example";
    return runHere("users", args, {
      OPERATOR_EMAILS,
      DATA_DIR: dataDir,
      DATABASE_URL: serviceUrl,
      DATABASE_OWNER_URL: ownerUrl,
    });
  };
  const json = async (...args: string[]) => {
    const { code, out, err } = await run(...args);
    expect(code, err).to.equal(0);
    return JSON.parse(out);
  };

  it("npm run users lists who signs in, and where they are members", async () => {
    expect(await json("list")).to.deep.equal([
      {
        ...{ user_id: ann.user.id, email: "Ann@people.example", name: "Ann", disabled: false, operator: true },
        workspaces: [{ workspace_id: tenant.id, member_id: ann.user.memberId, role: "approver" }],
      },
    ]);
  });

  it("npm run users lists nobody as an operator who only named the address", async () => {
    const [cause, userId] = [operator(tenant.id), service.deps.ids.uuid()];
    const email = "boss@people.example";
    await service.deps.users.handle(userId, { type: "RegisterUser", email, name: null, unconfirmed: true }, cause);
    const isOperator = async () =>
      (await json("list")).find(({ user_id }: { user_id: string }) => user_id === userId).operator;
    expect(await isOperator()).to.equal(false);
    await service.deps.users.handle(userId, { type: "ChangeUserEmail", email }, cause);
    expect(await isOperator()).to.equal(true);
  });

  it("npm run users makes links for a new password, of which the newest is valid", async () => {
    const [older, newest] = [
      await json("reset-link", "--email", "ann@people.example"),
      await json("reset-link", "--email", "ann@people.example"),
    ];
    const tokenOf = ({ reset }: { reset: string }) => /\/reset\/([\w-]{43})$/.exec(reset)![1]!;
    const { links } = service.deps.accounts;
    expect((await links.find("reset", tokenOf(newest))).about).to.deep.equal({ userId: ann.user.id });
    const fault = await links.find("reset", tokenOf(older)).catch((error) => error.fault);
    expect(fault).to.equal("replaced");
  });

  it("npm run users disables a user, whose sessions end at once, and enables them again", async () => {
    expect((await ann.get("/settings/members")).status).to.equal(200);
    const disabled = await json("disable", "--email", "ann@people.example");
    expect(disabled).to.include({ user_id: ann.user.id, disabled: true, sessions_ended: 1 });
    const next = await ann.get("/settings/members");
    expect([next.status, next.location]).to.deep.equal([303, "/sign-in?next=%2Fsettings%2Fmembers"]);
    expect((await run("reset-link", "--email", "ann@people.example")).err).to.contain("this user is disabled");
    expect((await json("enable", "--email", "ann@people.example")).disabled).to.equal(false);
    expect(await personOf(service.deps, "ann@people.example")).to.include({ disabled: false });
  });

  it("npm run users explains wrong arguments and an unknown address in a sentence", async () => {
    for (const [args, says] of [
      [[], "Give a command"],
      [["shout"], "Unknown command: shout"],
      [["disable"], "--email is required"],
      [["disable", "--email", "eve@people.example"], "no user signs in with eve@people.example"],
    ] as const) {
      const { code, out, err } = await run(...args);
      expect([code, out]).to.deep.equal([1, ""]);
      expect(err).to.contain(says);
    }
  });

  it("npm run users refuses a database of an earlier version in one sentence", async () => {
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.ownerUrl });
    await client.connect();
    await client.query("insert into work.migrations (name) values ('0002-of-another-line.sql')");
    await client.end();
    const urls = { DATABASE_URL: database.serviceUrl, DATABASE_OWNER_URL: database.ownerUrl };
    const { code, out, err } = await runHere("users", ["list"], { DATA_DIR: dataDir, ...urls });
    await database.drop();
    expect([code, out]).to.deep.equal([1, ""]);
    expect(err).to.match(/^The tables of this database were made by an earlier version .*DATA_DIR\.\n$/);
  });
});
