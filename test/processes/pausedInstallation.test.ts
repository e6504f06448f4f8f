import { expect } from "chai";
import { operator } from "#test/support/cause.ts";
import { runHere } from "#test/support/commandHere.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { startSecondInstance } from "#test/support/secondInstance.ts";
import { startReceiver } from "#test/support/webhookReceiver.ts";
import { webhook } from "./webhookWorld.ts";

/** The running service with its work table, its webhooks and the operator's command. */
describe("a running installation paused by the operator", () => {
  let service: InProcess;
  let workspace: Workspace;
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  before(async () => {
    service = await startInProcess({ START_PAUSED: "true", WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" });
    workspace = await service.workspace();
    receiver = await startReceiver();
  });
  after(async () => {
    await receiver?.stop();
    await service?.stop();
  });

  const operate = async (...args: string[]) =>
    (
      await runHere("processes", args, {
        DATABASE_URL: service.urls.serviceUrl,
        DATABASE_OWNER_URL: service.urls.ownerUrl,
        SECRETS_KEYS: `1:${Buffer.alloc(32).toString("base64")}`,
      })
    ).out;
  const count = async (rows: string): Promise<number> =>
    (await service.database.query<{ n: number }>(`select count(*)::int as n from ${rows}`)).rows[0]!.n;
  const happened = (type: string) => count(`es.events where type = '${type}'`);
  const aside = (process: string) =>
    count(`work.lanes where process = '${process}' and 'installation-main' = any (obstacles)`);
  const gauge = async () =>
    /^countersign_paused (\d)$/m.exec(await (await fetch(`${service.url}/metrics`)).text())?.[1];
  const told = () => receiver.requests.map(({ body }) => body.type as string);
  const caught = async () => (await service.outbox.newest(100)).flatMap(({ envelope }) => envelope.to).sort();

  it("an installation started with START_PAUSED records the pause first, and once for all instances", async () => {
    const { rows } = await service.database.query("select type from es.events order by position limit 1");
    expect(rows).to.deep.equal([{ type: "InstallationPaused" }]);
    const beside = await startSecondInstance(service.urls, { START_PAUSED: "true", ROLES: "api" });
    await beside.stop();
    expect(await happened("InstallationPaused")).to.equal(1);
    expect(await gauge()).to.equal("1");
    expect(await operate("status")).to.match(/\npaused: since 20\S+ by START_PAUSED: started with START_PAUSED=true\n/);
  });

  it("a paused installation sends no mail and no webhooks, and each once after it is resumed", async () => {
    await webhook(workspace.ask, receiver.url, ["draft.created", "draft.sent"]);
    const rule = {
      name: "Tell the lead",
      trigger_event: "email.received",
      actions: [{ type: "notify_channel", channel: "email", config: { to: "lead@approvers.example" } }],
    };
    const made = await workspace.ask("POST /v1/rules", { json: rule });
    expect(made.status, made.text).to.equal(200);
    const approvalChannel = { type: "email", config: { to: "ann@approvers.example" } } as const;
    const identity = await service.identity(workspace.id, { approvalChannel });
    await service.deliver(identity.address, mail({ id: "question@x.example", to: identity.address }));
    await until(async () => (await aside("runRules")) === 1);
    const [thread] = (await workspace.ask("GET /v1/threads")).json.data;
    const { messages } = (await workspace.ask(`GET /v1/threads/${thread.id}`)).json;
    const json = {
      ...{ thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id },
      body_text: "Here.",
    };
    const { id: approved } = (await workspace.ask("POST /v1/drafts", { json })).json;
    const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;
    await service.deps.drafts.handle(approved, { ...approve, tokenSha256: "a person's" }, operator(workspace.id));
    const { json: asked } = await workspace.ask("POST /v1/drafts", { json });
    const refused = await workspace.ask(`POST /v1/drafts/${asked.id}/send`);
    expect([refused.status, refused.json.error]).to.deep.equal([422, "sending_paused"]);

    await until(async () => (await aside("sendApproved")) === 1);
    await until(async () => (await aside("notifyApprovers")) > 0);
    // A rule's notification waits separately, so the rules of the drafts that answer its message continue.
    await until(async () => (await happened("DraftRulesApplied")) === 2);
    await until(async () => (await count("work.webhook_deliveries where status = 'pending'")) === 2);
    expect([await caught(), told(), await happened("ApproversAsked")]).to.deep.equal([[], [], 0]);

    expect(await operate("resume", "--reason", "looked through")).to.match(/^resumed/);
    await until(async () => (await happened("DraftSent")) === 1 && told().length === 3);
    await until(async () => (await caught()).length === 3);
    expect(told().sort()).to.deep.equal(["draft.created", "draft.created", "draft.sent"]);
    expect(await caught()).to.deep.equal(["ann@approvers.example", "ann@customer.example", "lead@approvers.example"]);
    expect([await gauge(), await operate("resume")]).to.deep.equal(["0", "nothing was paused\n"]);
    expect(await operate("status")).to.match(/\npaused: no\n/);
  });
});
