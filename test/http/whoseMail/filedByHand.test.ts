import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { inboundById } from "#projections/inbound/queries.ts";
import { fileByHand } from "#src/commands/inbound/fileByHand.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { operator } from "#test/support/cause.ts";
import { type InProcess, mail as plainMail } from "#test/support/inProcess.ts";
import { openTenantOn } from "#test/support/story/plan.ts";
import { openTenant, type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { eventsAbout, filing, idOf, messageWithId, multipart, part, sentBy } from "./returning.ts";

const carla = "Carla Smith <carla@customer.example>";

/** *File as a message*: POST /v1/inbound/{id}/file. */
describe("a mail that a person files as a message [d5 file]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let colleague: Awaited<ReturnType<StoryTenant["newIdentity"]>>;

  before(async () => {
    ({ service, tenant } = await startStory());
    colleague = await tenant.newIdentity();
  });
  after(() => service.stop());

  type Scene = { of: StoryTenant; mail: StoryMail; sent: string };
  async function answered(of: StoryTenant = tenant): Promise<Scene> {
    const mail = await of.mail({ from: carla });
    const draft = await of.draft(mail);
    await draft.sendNow();
    return { of, mail, sent: await sentBy(service, draft.id) };
  }
  const came = ({ of }: Pick<Scene, "of">, raw: string, from?: string) =>
    filing({ service, tenant: of }, raw, from === undefined ? {} : { from });
  const file = (entry: any, of: StoryTenant = tenant, headers: Record<string, string> = {}) =>
    of.ask(`POST /v1/inbound/${entry.id}/file`, { headers });

  /** A mail that answers ours. */
  const answering = ({ of, sent }: Scene, headers: string[], body: string): string =>
    [
      `Message-ID: <${randomUUID()}@mail.example>`,
      `From: ${carla}`,
      `To: ${of.identity.address}`,
      "Subject: Re: My order",
      `In-Reply-To: <${idOf(sent)}>`,
      ...headers,
      "MIME-Version: 1.0",
      ...(headers.some((line) => line.startsWith("Content-Type")) ? [] : ["Content-Type: text/plain; charset=utf-8"]),
      "",
      body,
    ].join("\r\n");
  const typed = ({ type, body }: { type: string; body: string }): [string[], string] => [
    [`Content-Type: ${type}`],
    body,
  ];
  const reaction = (scene: Scene): string => {
    const sign = part("text/vnd.google.email-reaction+json", '{"version":1,"emoji":"👍"}');
    return answering(scene, ...typed(multipart("alternative", part("text/plain; charset=utf-8", "👍"), sign)));
  };
  const report = ({ sent }: Scene): [string[], string] =>
    typed(
      multipart(
        "report; report-type=delivery-status",
        part(
          "message/delivery-status",
          "Final-Recipient: rfc822; carla@customer.example\r\nAction: failed\r\nStatus: 5.1.1",
        ),
        part("text/rfc822-headers", `Message-ID: <${idOf(sent)}>`),
      ),
    );

  async function colleaguesMail(): Promise<{ raw: string; scene: Scene }> {
    const letter = { id: `${randomUUID()}@customer.example`, from: carla };
    const scene = { of: tenant, mail: await tenant.mail(letter) };
    const draft = await tenant.draft(await tenant.mail({ ...letter, to: colleague }), {
      cc: [tenant.identity.address],
    });
    await draft.sendNow();
    const raw = await sentBy(service, draft.id);
    return { raw, scene: { ...scene, sent: raw } };
  }

  const kinds: Record<string, () => Promise<{ scene: Scene; raw: string; isMessage: boolean }>> = {
    "a copy of ours": async () => {
      const scene = await answered();
      return { scene, raw: scene.sent, isMessage: false };
    },
    "a reaction": async () => {
      const scene = await answered();
      return { scene, raw: reaction(scene), isMessage: false };
    },
    "an automatic reply": async () => {
      const scene = await answered();
      return { scene, raw: answering(scene, ["Auto-Submitted: auto-replied"], "I am away."), isMessage: true };
    },
    "a report": async () => {
      const scene = await answered();
      return { scene, raw: answering(scene, ...report(scene)), isMessage: true };
    },
    "a colleague's mail": async () => ({ ...(await colleaguesMail()), isMessage: true }),
  };
  for (const [what, made] of Object.entries(kinds))
    it(`${what} becomes its sender's word, once: it fires and makes drafts stale`, async () => {
      const { scene, raw, isMessage } = await made();
      const { mail } = scene;
      const waiting = await tenant.draft(mail, { body_text: "Anything else?" });
      const { entry } = await came(scene, raw);
      const [total, events] = [(await tenant.thread(mail)).messages_total, await eventsAbout(tenant, mail)];
      expect((await waiting.read()).newer_message_id).to.equal(null);

      const parallel = await Promise.all([file(entry), file(entry), file(entry)]);
      expect(parallel.map(({ outcome }) => outcome).sort()).to.deep.equal([
        "200",
        ...Array(2).fill("422 invalid_status"),
      ]);
      const { json } = parallel.find(({ status }) => status === 200)!;
      expect(json).to.include({ id: entry.id, disposition: "threaded" });
      if (isMessage) expect(json.message_id).to.equal(entry.message_id);
      else expect(json.message_id).not.to.equal(entry.message_id);
      expect((await file(entry)).outcome).to.equal("422 invalid_status");

      const message = await messageWithId(service, tenant, json.message_id);
      expect(message).to.include({ kind: "filed_by_hand", classification: "person", thread_id: mail.threadId });
      const thread = await tenant.thread(mail);
      expect(thread.messages_total).to.equal(total + (isMessage ? 0 : 1));
      expect((await waiting.read()).newer_message_id).to.equal(message.id);
      expect((await waiting.ask("POST send")).outcome).to.equal("409 stale_draft");
      await authenticatedAgain(message.id);
      expect(await eventsAbout(tenant, mail)).to.have.length(events.length + 1);
    });

  /** Waits for the event about a message. */
  async function authenticatedAgain(messageId: string): Promise<void> {
    for (;;) {
      const { json } = await tenant.ask("GET /v1/events?types=email.received&limit=100");
      if (json.data.some(({ data }: any) => data.message_id === messageId)) return;
      await service.caughtUp();
    }
  }

  it("under one Idempotency-Key it is one filing with one answer, which opens the thread, also if the first call was interrupted", async () => {
    for (const isCopy of [true, false]) {
      const scene = await answered();
      const { entry } = await came(scene, isCopy ? scene.sent : answering(scene, ["X-Autoreply: yes"], "Away."));
      expect((await tenant.thread(scene.mail)).status).to.equal("waiting");
      const key = { "Idempotency-Key": randomUUID() };
      const both = [await file(entry, tenant, key), await file(entry, tenant, key)];
      expect(both.map(({ status }) => status)).to.deep.equal([200, 200]);
      expect(both[1]!.json).to.deep.equal(both[0]!.json);
      const again = { ...operator(tenant.id), operation: randomUUID(), repeated: true };
      const before = (await tenant.thread(scene.mail)).messages_total;
      const row = (await inboundById(service.deps.reads, tenant.id, entry.id))!;
      await fileByHand(service.deps, { workspaceId: tenant.id, entry: row }, again);
      await service.caughtUp();
      expect(await tenant.thread(scene.mail)).to.include({ messages_total: before, status: "open" });
    }
  });

  it("any other mail is refused: a customer's, a duplicate, an approver's answer, another workspace's, an unknown one", async () => {
    const scene = await answered();
    const customers = await tenant.mail({ from: carla });
    const entryOf = async (messageId: string) =>
      (await tenant.ask("GET /v1/inbound?limit=100")).json.data.find(({ message_id }: any) => message_id === messageId);
    expect((await file(await entryOf(customers.messageId))).outcome).to.equal("422 invalid_status");
    const first = await came(scene, scene.sent);
    const duplicate = await came(scene, scene.sent);
    expect([duplicate.entry.disposition, (await file(duplicate.entry)).outcome]).to.deep.equal([
      "duplicate",
      "422 invalid_status",
    ]);
    const disable = (status: string) => tenant.ask(`PATCH /v1/identities/${tenant.identity.id}`, { json: { status } });
    expect((await disable("disabled")).status).to.equal(200);
    expect((await file(first.entry)).outcome, "mail of a disabled identity").to.equal("422 invalid_status");
    expect((await disable("active")).status).to.equal(200);
    const other = await openTenant(service);
    expect((await file(first.entry, other)).outcome).to.equal("404 not_found");
    expect((await file({ id: randomUUID() })).outcome).to.equal("404 not_found");
    const reader = tenant.withKey(await tenant.keyOf(["read:threads"]));
    expect((await file(first.entry, reader)).outcome).to.equal("401 insufficient_scope");

    const asking = await tenant.newIdentity({
      approvalChannel: { type: "email", config: { to: "boss@ours.example" } },
    });
    const draft = await tenant.draft(await tenant.mail({ from: carla, to: asking }));
    const approval = await draft.approvalMail("boss@ours.example");
    const answer = plainMail({
      id: `${randomUUID()}@ours.example`,
      from: "boss@ours.example",
      inReplyTo: approval.headers["message-id"]!.slice(1, -1),
      text: "Yes, send it.",
    });
    await service.deliver(service.deps.settings.approvalsFrom, answer, { from: "boss@ours.example" });
    const { data } = (await tenant.ask("GET /v1/inbound?disposition=approval_reply")).json;
    expect(data).to.have.length(1);
    expect((await file(data[0])).outcome).to.equal("422 invalid_status");
  });

  it("a copy of ours needs room in the plan, and is filed once there is some", async () => {
    const { settings } = service.deps;
    const set = (inboundPerPeriod: number) => {
      settings.planLimits = { ...planLimits, pro: { ...planLimits.pro, inboundPerPeriod } };
    };
    const small = await openTenantOn(service, { plan: "pro" });
    try {
      set(2);
      const scene = await answered(small);
      const { entry } = await came(scene, scene.sent);
      expect(entry.disposition).to.equal("own_copy");
      expect((await small.usage()).inbound_received_this_period).to.equal(1);
      await small.mail({ from: carla });
      expect((await file(entry, small)).outcome).to.equal("402 plan_limit_reached");
      expect((await small.ask(`GET /v1/inbound/${entry.id}`)).json.disposition).to.equal("own_copy");
      set(3);
      expect((await file(entry, small)).status).to.equal(200);
      expect((await small.usage()).inbound_received_this_period).to.equal(3);
    } finally {
      settings.planLimits = planLimits;
    }
  });
});
