import { expect } from "chai";
import { submitDraft } from "#src/commands/drafts/submitDraft.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { reception } from "#src/commands/inbound/receiveMail.ts";
import { createOutbox } from "#src/mail/out/outbox.ts";
import { cause } from "#test/processes/sendWorld.ts";
import { asking } from "#test/support/asking.ts";
import { composeBeside } from "#test/support/besideService.ts";
import { describeInFull, itInFull } from "#test/support/full.ts";
import { mail, until } from "#test/support/inProcess.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { startService, type TestService } from "#test/support/service.ts";
import { testSettings } from "#test/support/settings.ts";

const minute = 60_000;

describeInFull("escalation by two instances, one killed on the way [d7 escalation]", function () {
  this.timeout(240_000);
  let database: TestDatabase;
  let composition: ReturnType<typeof composeBeside>;
  const instances: TestService[] = [];
  before(async () => {
    database = await createTestDatabase();
    composition = composeBeside(database);
  });
  after(async () => {
    await Promise.all(instances.map((instance) => instance.stop()));
    await composition.close();
    await database.drop();
  });

  const start = async () => {
    const instance = await startService({ database, env: testSettings });
    instances.push(instance);
    return instance;
  };

  itInFull("asks each secondary channel once, also where its holder is gone when the time comes", async () => {
    const first = await start();
    const key = first.apiKey as string;
    const second = await start();
    const ask = asking(second.url, key);
    const [sandbox] = (await ask("GET /v1/domains")).json.data;
    const identities: { id: string; email_address: string; workspace_id: string }[] = [];
    const { json: plan } = await ask("GET /v1/billing/subscription");
    const count = plan.beta_override ? 5 : 1;
    for (let n = 0; n < count; n++) {
      const channel = { type: "email", config: { to: `second-${n}@approvers.example` } };
      const settings = { secondary_approval_channel: channel, escalation_delay_minutes: 1 };
      const body = { domain_id: sandbox.id, local_part: `agent-${n}`, display_name: "Agent", ...settings };
      identities.push((await ask("POST /v1/identities", { json: body })).json);
    }
    const { resolve, accept } = reception(composition.deps);
    for (const { id, email_address: address } of identities) {
      const raw = Buffer.from(mail({ id: `${id}@x.example` }));
      const recipient = (await resolve(address))!;
      await accept({
        recipients: [{ recipient, address }],
        from: "ann@customer.example",
        raw,
        remote: { ip: "192.0.2.1", helo: "x" },
      });
    }
    await until(async () => (await ask("GET /v1/threads")).json.total === count);
    const threads = (await ask("GET /v1/threads")).json.data;
    // Submitted nearly a minute ago, so that nobody has to wait for the contract's shortest delay.
    const clock = { ...composition.deps.clock, now: () => new Date(Date.now() - minute + 6_000) };
    const earlier = { ...composition.deps, clock, ...createStreamServices({ ...composition.deps, clock }) };
    const draftIds: string[] = [];
    for (const thread of threads) {
      const [message] = (await ask(`GET /v1/threads/${thread.id}`)).json.messages;
      const request = {
        workspaceId: thread.workspace_id,
        threadId: thread.id,
        identityId: thread.identity_id,
        basedOnMessageId: message.id,
        bodyText: "Tomorrow.",
        bodyHtml: null,
        subjectOverride: null,
        cc: [],
        bcc: [],
        rationale: null,
        metadata: null,
        attachments: [],
      };
      const { draftId } = await submitDraft(earlier, request, { ...cause, workspaceId: thread.workspace_id });
      draftIds.push(draftId);
    }
    const timers = async () =>
      (
        await composition.database.query(
          "select 1 from work.items where process = 'escalateUnanswered' and timer is not null",
        )
      ).rows.length;
    await until(async () => (await timers()) === count);
    await first.kill("SIGKILL");

    const outbox = createOutbox(composition.database);
    const asked = async () =>
      (await outbox.newest(100)).flatMap(({ envelope }) => envelope.to).filter((to) => to.startsWith("second-"));
    await until(async () => (await asked()).length >= count, 60_000);
    const third = await start();
    await until(async () => (await timers()) === 0);
    const history = async (id: string) =>
      (await asking(third.url, key)(`GET /v1/drafts/${id}/history?limit=100`)).json.data.map(({ type }: any) => type);
    for (const id of draftIds) {
      expect((await history(id)).filter((type: string) => type === "DraftEscalated")).to.have.length(1);
    }
    expect((await asked()).sort()).to.deep.equal(identities.map((_, n) => `second-${n}@approvers.example`));
  });
});
