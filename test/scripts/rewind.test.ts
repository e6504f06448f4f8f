import { expect } from "chai";
import { pauseInstallation, resumeInstallation } from "#src/commands/installation.ts";
import { operator } from "#test/support/cause.ts";
import { runHere } from "#test/support/commandHere.ts";
import { type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";
import { type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { startReceiver } from "#test/support/webhookReceiver.ts";
import { webhook } from "../processes/webhookWorld.ts";

const allowed = { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" };

/** Restores only the tables of work in progress: the log and the read models, which catch up by themselves, stay. */
describe("npm run processes -- rewind", () => {
  let service: InProcess;
  let worker: SecondInstance | undefined;
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  before(async () => {
    service = await startInProcess({ ROLES: "api,projections", ...allowed });
    receiver = await startReceiver();
  });
  after(async () => {
    await worker?.stop();
    await receiver?.stop();
    await service?.stop();
  });

  const rows = async <Row extends Record<string, unknown>>(sql: string) =>
    (await service.database.query<Row>(sql)).rows;
  const count = async (from: string) => (await rows<{ n: number }>(`select count(*)::int as n from ${from}`))[0]!.n;
  const startWorker = async () => {
    worker = await startSecondInstance(service.urls, { ROLES: "processes", ...allowed });
  };
  const stopWorker = async () => {
    await worker?.stop();
    worker = undefined;
  };
  const rewind = async (...options: string[]) =>
    (
      await runHere("processes", ["rewind", ...options], {
        DATABASE_URL: service.urls.serviceUrl,
        DATABASE_OWNER_URL: service.urls.ownerUrl,
        SECRETS_KEYS: `1:${Buffer.alloc(32).toString("base64")}`,
      })
    ).out;

  it("a rewind loses no sending draft and no request made since the backup, and notifies nobody again", async () => {
    await startWorker();
    const { id: workspaceId, ask } = await service.workspace();
    await webhook(ask, receiver.url, ["draft.created", "draft.sent"]);
    const approvalChannel = { type: "email", config: { to: "ann@approvers.example" } } as const;
    const identity = await service.identity(workspaceId, { approvalChannel });
    await service.deliver(identity.address, mail({ id: "question@x.example", to: identity.address }));
    const head = await service.store.head();
    await until(async () => (await count(`work.lanes where state <> 'waiting'`)) === 0);
    await until(async () => (await count(`work.planned where planned < ${head}`)) === 0);
    const backup = await rows<{ planned: number }>("select min(planned) as planned from work.planned");

    await pauseInstallation(service.deps, null, operator());
    const [thread] = (await ask("GET /v1/threads")).json.data;
    const { messages } = (await ask(`GET /v1/threads/${thread.id}`)).json;
    const based = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };
    const submit = async () => (await ask("POST /v1/drafts", { json: { ...based, body_text: "Here." } })).json.id;
    const approved = await submit();
    const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;
    await service.deps.drafts.handle(approved, { ...approve, tokenSha256: "a person's" }, operator(workspaceId));
    await submit();
    await until(async () => (await count("work.lanes where obstacles is not null")) >= 2);
    await until(async () => (await count("work.webhook_deliveries")) === 2);
    await stopWorker();

    const tables = ["items", "lanes", "webhook_deliveries"];
    for (const table of tables) await service.database.query(`delete from work.${table}`);
    await service.database.query(`update work.processes set planned = ${backup[0]!.planned}`);

    const said = await rewind("--dry-run");
    expect(said)
      .to.match(/'queueWebhooks' .* 'passed over'/)
      .and.to.match(/'sendApproved' .* 'looked at again'/);
    expect(said).to.match(/\nnothing was changed/);
    expect(await count("work.lanes")).to.equal(0);
    expect(await rewind("--yes")).to.match(/\ndone: start the instances\n$/);
    const end = await service.store.head();
    expect(await count(`work.planned where planned <> ${end}`)).to.equal(0);

    await startWorker();
    await resumeInstallation(service.deps, null, operator());
    await until(async () => (await count("es.events where type = 'DraftSent'")) === 1);
    await until(async () => receiver.requests.length === 1 && (await count("work.outbox")) === 2);
    const recipients = (await service.outbox.newest(10)).flatMap(({ envelope }) => envelope.to).sort();
    expect(recipients).to.deep.equal(["ann@approvers.example", "ann@customer.example"]);
    expect(receiver.requests.map(({ body }) => body.type)).to.deep.equal(["draft.sent"]);
  });
});
