import { expect } from "chai";
import { inbound } from "#projections/inbound/projector.ts";
import { unansweredMail } from "#projections/inbound/queries.ts";
import type { Projection } from "#projections/projection.ts";
import { createPostReceiver } from "#src/commands/inbound/postedMail.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { systemIds } from "#src/platform/clock.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import { startSender } from "#test/mail/in/smtpSender.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { startSecondInstance } from "#test/support/secondInstance.ts";

describe("the inbound ledger over HTTP", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;

  before(async () => {
    service = await startInProcess({ RETENTION_DAYS_HELD: "3", RETENTION_DAYS_QUARANTINED: "2" });
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(() => service.stop());

  it("the ledger has an entry for every delivery, also a repeated one, the newest first", async () => {
    const raw = mail({ id: "once@x.example" });
    await service.deliver(identity.address, raw);
    await service.deliver(identity.address.replace("@", "+tag@"), raw);
    const { status, json } = await workspace.ask("GET /v1/inbound");
    expect([status, json.total]).to.deep.equal([200, 2]);
    const [second, first] = json.data;
    expect([first.disposition, second.disposition]).to.deep.equal(["threaded", "duplicate"]);
    expect(second.position).to.be.greaterThan(first.position);
    expect(first.filed_position).to.be.greaterThan(first.position);
    expect(first.envelope).to.deep.equal({ from: "ann@customer.example", to: identity.address });
    expect(second.envelope.to).to.contain("+tag@");
    const { json: threads } = await workspace.ask("GET /v1/threads");
    const { json: thread } = await workspace.ask(`GET /v1/threads/${threads.data[0].id}`);
    expect(thread.messages.map(({ id }: any) => id)).to.deep.equal([first.message_id]);
    const { json: duplicates } = await workspace.ask("GET /v1/inbound?disposition=duplicate");
    expect(duplicates.data).to.deep.equal([second]);
    for (const [query, total] of [
      [`identity_id=${identity.id}`, 2],
      [`identity_id=${identity.id.toUpperCase()}&disposition=duplicate`, 1],
      ["disposition=duplicate", 1],
      ["disposition=received", 0],
      [`identity_id=${systemIds.uuid()}`, 0],
    ])
      expect((await workspace.ask(`GET /v1/inbound?${query}`)).json.total, String(query)).to.equal(total);
    expect((await workspace.ask(`GET /v1/inbound/${first.id}`)).json).to.deep.equal(first);
  });

  it("the ledger returns the bytes of each delivery as they were received", async () => {
    const raw = mail({ id: "bytes@x.example", text: "B\u00fccher \u{1f4da}" });
    await service.deliver(identity.address, raw);
    const { json } = await workspace.ask("GET /v1/inbound?limit=1");
    const answer = await workspace.ask(`GET /v1/inbound/${json.data[0].id}/raw`);
    expect(answer.bytes.equals(Buffer.from(raw))).to.equal(true);
    expect(json.data[0].size_bytes).to.equal(Buffer.byteLength(raw));
    expect(answer.headers.get("content-type")).to.equal("message/rfc822");
    expect(answer.headers.get("content-disposition")).to.match(/^attachment;/);
  });

  it("the ledger shows another workspace nothing", async () => {
    const stranger = await service.workspace();
    const { id } = (await workspace.ask("GET /v1/inbound?limit=1")).json.data[0];
    expect((await stranger.ask("GET /v1/inbound")).json.total).to.equal(0);
    expect((await stranger.ask(`GET /v1/inbound?identity_id=${identity.id}`)).json.total).to.equal(0);
    for (const line of [`GET /v1/inbound/${id}`, `GET /v1/inbound/${id}/raw`, "GET /v1/inbound/nonsense"]) {
      const { outcome } = await stranger.ask(line);
      expect(outcome, line).to.equal("404 not_found");
    }
  });

  it("the ledger refuses an unknown disposition as a filter", async () => {
    const { outcome, json } = await workspace.ask("GET /v1/inbound?disposition=lost");
    expect(outcome).to.equal("422 invalid_request");
    expect(json.message).to.contain("disposition");
  });
  it("the ledger keeps the entries of held and quarantined mails whose content was removed after retention", async () => {
    const own = await service.workspace();
    const { ask } = own;
    const agent = await service.identity(own.id);
    const parse = service.deps.parser.parse;
    service.deps.parser.parse = async (...given) => ({
      ...(await parse(...given)),
      ...{ bodyText: null, bodyHtml: null, attachments: [], unreadable: "it is damaged" },
    });
    await service.deliver(agent.address, mail({ id: "damaged@x.example" }));
    service.deps.parser.parse = parse;
    await ask(`PATCH /v1/identities/${agent.id}`, { json: { status: "disabled" } });
    await service.deliver(agent.address, mail({ id: "held@x.example" }));
    await service.deliver(agent.address, mail({ id: "held@x.example" }));
    const ledger = async (): Promise<any[]> => (await ask("GET /v1/inbound")).json.data;
    const raws = async () =>
      Promise.all((await ledger()).map(async ({ id }) => (await ask(`GET /v1/inbound/${id}/raw`)).status));
    const before = await ledger();
    expect(before.map(({ disposition }) => disposition)).to.deep.equal([
      ...["duplicate", "held_identity_disabled", "quarantined"],
    ]);
    expect(await raws()).to.deep.equal([200, 200, 200]);
    const messageRaw = () => ask(`GET /v1/messages/${before[2].message_id}/raw`);
    expect((await messageRaw()).status).to.equal(200);

    const dayMs = 86_400_000;
    service.clock.advance(2.9 * dayMs);
    await until(async () => (await ledger())[2].reason !== before[2].reason);
    expect(await raws()).to.deep.equal([200, 200, 404]);
    service.clock.advance(1.1 * dayMs);
    await until(async () => (await ledger())[1].reason !== before[1].reason);
    const gone = "its content was removed after";
    expect(await ledger()).to.deep.equal([
      { ...before[0], reason: `this message was already received; ${gone} 3 days` },
      { ...before[1], reason: `the identity is disabled; ${gone} 3 days` },
      { ...before[2], reason: `it is damaged; ${gone} 2 days` },
    ]);
    expect(await raws()).to.deep.equal([404, 404, 404]);
    const { outcome, json } = await messageRaw();
    expect(outcome).to.equal("404 not_found");
    expect(json.message).to.match(/^the content of this mail was removed after 2 days/);
    expect((await ask(`GET /v1/messages/${before[2].message_id}`)).status).to.equal(404);
    const [thread] = (await ask("GET /v1/threads")).json.data;
    expect((await ask(`GET /v1/threads/${thread.id}`)).json.messages).to.have.length(1);
    // A held mail without content is not released any more.
    await ask(`PATCH /v1/identities/${agent.id}`, { json: { status: "active" } });
    await service.deliver(agent.address, mail({ id: `${systemIds.uuid()}@x.example` }));
    expect((await ledger()).map(({ disposition }) => disposition)).to.deep.equal([
      ...["threaded", "duplicate", "held_identity_disabled", "quarantined"],
    ]);
    const parked = await service.database.query("select process, error from work.parked");
    expect(parked.rows).to.deep.equal([]);
  });

  it("a workspace with too much unanswered mail gets no more, until it is answered or closed; others do", async () => {
    const [full, other] = [await service.workspace(), await service.workspace()];
    const [flooded, calm] = [await service.identity(full.id), await service.identity(other.id)];
    const holds = async () =>
      (await unansweredMail(service.database.reads)).find(({ workspace_id }) => workspace_id === full.id)?.bytes ?? 0;
    const text = "x".repeat(70).concat("\r\n").repeat(10_000);
    for (const id of ["one", "two"])
      await service.deliver(flooded.address, mail({ id: `${id}@flood.example`, text, from: `${id}@flood.example` }));
    expect(await holds()).to.be.within(1_400_000, 1_500_000);

    const second = await startSecondInstance(service.urls, { ROLES: "api,smtp", SMTP_IN_UNANSWERED_MB: "1,1000" });
    try {
      const sender = await startSender(second.smtpPort);
      for (const line of ["EHLO a", "MAIL FROM:<>"]) await sender.say(line);
      expect(await sender.say(`RCPT TO:<${flooded.address}>`)).to.match(/^451/);
      expect(await sender.say(`RCPT TO:<${calm.address}>`)).to.match(/^250/);
      const readyz = (await (await fetch(`${second.url}/readyz`)).json()) as any;
      expect(readyz.status).to.equal("ready");
      const { ok, detail } = readyz.parts.find(({ name }: { name: string }) => name === "unanswered_mail");
      expect([ok, detail.includes(`${full.id} (2 MB)`), detail.includes(other.id)]).to.deep.equal([true, true, false]);
    } finally {
      await second.stop();
    }
    const takePost = createPostReceiver(service.deps, { isFull: (id) => id === full.id });
    const post = (to: string) => {
      const posted = { raw: Buffer.from(mail({ id: `${to}-posted` })), from: "ann@customer.example", to: [to] };
      const about = { bytes: Buffer.alloc(0), contentType: undefined, ip: "127.0.0.1" };
      return takePost({ ...about, mail: { ...posted, remote: { ip: "127.0.0.1", helo: "" } } }).catch((error) => error);
    };
    expect(await post(flooded.address)).to.be.instanceOf(Unavailable);
    expect(await post(calm.address)).to.deep.equal({ recipients: 1, unknown: 0 });

    const threads = (await full.ask("GET /v1/threads")).json.data;
    expect(threads).to.have.length(2);
    await full.ask(`PATCH /v1/threads/${threads[0].id}`, { json: { status: "closed" } });
    expect(await holds()).to.be.within(700_000, 750_000);
    const reply = { thread_id: threads[1].id, body_text: "Stop it, please." };
    expect((await full.ask("POST /v1/emails/reply", { json: reply })).status).to.equal(202);
    await until(async () => (await holds()) === 0);
  });

  it("a replay of the log gives the ledger and its counts", async () => {
    const { database, store } = service;
    const replay = { database, store, tablesSql: tablesFile, signal: new AbortController().signal };
    const { differences, rows } = await verify(replay, inbound as Projection);
    expect(differences).to.deep.equal([]);
    expect(rows).to.be.above(10);
  });
});
