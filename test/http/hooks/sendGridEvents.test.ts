import { expect } from "chai";
import { inFull, sized } from "#test/support/full.ts";
import { type InProcess, startInProcess, until } from "#test/support/inProcess.ts";
import { eventOf, type MockEvent, mockEventWebhook } from "#test/support/sendGrid/events.ts";
import { type MockMail, mockMail } from "#test/support/sendGrid/mail.ts";
import { type MockSendGrid, mockApiKey, startMockSendGrid } from "#test/support/sendGrid/mockSendGrid.ts";
import { openTenant, type StoryTenant } from "#test/support/story/story.ts";

describe("a service that sends by SendGrid", () => {
  const sendGrid = mockMail();
  const webhook = mockEventWebhook();
  let mock: MockSendGrid;
  let service: InProcess;
  let tenants: [StoryTenant, StoryTenant];

  before(async () => {
    mock = await startMockSendGrid(sendGrid.handlers);
    // Without the email logs the service learns of deliveries only by events.
    sendGrid.setLogs("not bought");
    service = await startInProcess({
      MAIL_PROVIDER: "sendgrid",
      SENDGRID_API_KEY: mockApiKey,
      SENDGRID_BASE_URL: mock.url,
      SENDGRID_EVENT_PUBLIC_KEY: webhook.publicKey,
    });
    tenants = [await openTenant(service, { canSendCold: true }), await openTenant(service, { canSendCold: true })];
    // Mail to these addresses is accepted, and the answer is lost.
    mock.setFault({
      after(call, _answer, response) {
        if (!/^lost/.test(call.body?.personalizations?.[0]?.to?.[0]?.email ?? "")) return false;
        response.socket!.resetAndDestroy();
        return true;
      },
    });
  });
  after(async () => {
    await service.stop();
    await mock.stop();
  });

  let mails = 0;
  /** Sends a new mail; resolves once SendGrid has it. */
  async function sent(localPart = "ann", n = 0, more: object = {}) {
    const to = `${localPart}${++mails}@customer.example`;
    const { json } = await tenants[n]!.ask("POST /v1/emails/send", {
      json: {
        identity_id: tenants[n]!.identity.id,
        to: [to],
        subject: `News ${mails}`,
        body_text: "We have news.",
        ...more,
      },
    });
    const find = () => sendGrid.taken.find(({ body }) => body.personalizations[0].to[0].email === to);
    await until(async () => find() !== undefined);
    const draftId: string = json.draft_id;
    const isLost = localPart === "lost";
    await until(async () => isLost || (await draft(draftId, n)).status === "sent");
    return { draftId, n, messageId: json.message_id as string, taken: find() as MockMail };
  }
  type Sent = Awaited<ReturnType<typeof sent>>;
  const draft = async (id: string, n = 0) => (await tenants[n]!.ask(`GET /v1/drafts/${id}`)).json;
  const post = (events: readonly unknown[], at = service.clock.now()) => webhook.post(service.url, events, at);
  const told = async (events: readonly MockEvent[]) => {
    const answer = await post(events);
    expect(answer.status, await answer.text()).to.equal(200);
  };
  async function deliveryStatus({ messageId }: Sent): Promise<string> {
    await service.caughtUp();
    const sql = "select delivery_status from messages where id = $1";
    return (await service.database.reads.ofAll.query<{ delivery_status: string }>(sql, [messageId])).rows[0]!
      .delivery_status;
  }
  /** Returns the types of the public events about each draft's mail, sorted. */
  async function kinds(): Promise<Map<string, string[]>> {
    await service.caughtUp();
    const told = new Map<string, string[]>();
    const types = "email.sent,email.delivered,email.bounced,email.complained,draft.failed";
    for (const { ask } of tenants) {
      for (let after = ""; ; ) {
        const { json } = await ask(`GET /v1/events?limit=100&types=${types}${after && `&after=${after}`}`);
        for (const { type, data } of json.data)
          told.set(data.draft_id, [...(told.get(data.draft_id) ?? []), type].sort());
        if (!json.has_more) break;
        after = json.next_cursor;
      }
    }
    return told;
  }

  it("a mail's delivery status follows SendGrid's events, and a worse one is not replaced by a better one", async () => {
    const one = await sent();
    const { rfc_message_id } = one.taken.body.personalizations[0].custom_args;
    expect(one.taken.body.headers["Message-ID"]).to.equal(rfc_message_id);
    expect(await deliveryStatus(one)).to.equal("sent");
    await told([eventOf(one.taken, "processed"), eventOf(one.taken, "deferred")]);
    expect(await deliveryStatus(one)).to.equal("sent");
    await told([eventOf(one.taken, "delivered")]);
    expect(await deliveryStatus(one)).to.equal("delivered");
    await told([eventOf(one.taken, "bounce")]);
    expect(await deliveryStatus(one)).to.equal("bounced");
    await told([eventOf(one.taken, "spamreport"), eventOf(one.taken, "delivered"), eventOf(one.taken, "open")]);
    expect(await deliveryStatus(one)).to.equal("complained");
    expect((await kinds()).get(one.draftId)).to.deep.equal([
      "email.bounced",
      "email.complained",
      "email.delivered",
      "email.sent",
    ]);
    const { json } = await tenants[0].ask(`GET /v1/drafts/${one.draftId}/history`);
    const bounced = json.data.find((event: any) => event.type === "DeliveryBounced");
    expect(bounced.data.evidence).to.equal(
      `SendGrid: bounce for ${one.taken.body.personalizations[0].to[0].email}: 5.1.1 550 no such user`,
    );
  });

  it("a mail that SendGrid dropped is shown as failed", async () => {
    const one = await sent();
    await told([eventOf(one.taken, "delivered", { email: "cc@customer.example" }), eventOf(one.taken, "dropped")]);
    expect(await deliveryStatus(one)).to.equal("failed");
    expect((await draft(one.draftId)).status).to.equal("sent");
  });

  it("a mail whose answer was lost counts as sent once SendGrid's event about it arrives", async () => {
    const one = await sent("lost");
    await until(
      async () =>
        (await service.deps.deliveries.load(one.taken.body.personalizations[0].custom_args.attempt_id)).state.phase ===
        "unknown",
    );
    await told([eventOf(one.taken, "processed")]);
    await until(async () => (await draft(one.draftId)).status === "sent");
    expect(sendGrid.taken.filter(({ body }) => body.subject === one.taken.body.subject)).to.have.length(1);
  });

  it("a reply that names only SendGrid's own Message-ID is put on its thread", async () => {
    const one = await sent();
    await told([eventOf(one.taken, "processed", { "smtp-id": "<wire-1@geopod-ismtpd-1>" })]);
    await service.caughtUp();
    const { thread_id } = await draft(one.draftId);
    await tenants[0].mail({ inReplyTo: "wire-1@geopod-ismtpd-1" });
    const { data } = (await tenants[0].ask(`GET /v1/threads/${thread_id}/messages`)).json;
    expect(data.map(({ direction }: { direction: string }) => direction)).to.deep.equal(["outbound", "inbound"]);
  });

  it("an approval mail that SendGrid drops is followed at once by one to the second approver", async () => {
    const [first, second] = ["boss", "deputy"].map((name) => ({
      type: "email" as const,
      config: { to: `${name}@ours.example` },
    }));
    const identity = await tenants[0].newIdentity({ approvalChannel: first, secondaryApprovalChannel: second });
    await tenants[0].draft(await tenants[0].mail({ to: identity }));
    const asked = (to: string) => sendGrid.taken.find(({ body }) => body.personalizations[0].to[0].email === to);
    await until(async () => asked("boss@ours.example") !== undefined);
    expect(asked("boss@ours.example")!.body.headers).to.include({ "Auto-Submitted": "auto-generated" });
    await until(async () => {
      await told([eventOf(asked("boss@ours.example")!, "dropped")]);
      return asked("deputy@ours.example") !== undefined;
    });
  });

  describe("calls that are not SendGrid's", () => {
    const at = () => service.clock.now();
    const later = (ms: number) => new Date(at().getTime() + ms);
    const send = (headers: Record<string, string>, body: string) =>
      fetch(`${service.url}/hooks/sendgrid/events`, { method: "POST", headers, body });
    const stranger = mockEventWebhook();
    let body: string;
    let untouched: Sent;
    before(async () => {
      untouched = await sent();
      body = JSON.stringify([eventOf(untouched.taken, "bounce"), eventOf(untouched.taken, "spamreport")]);
      await service.caughtUp();
    });

    const forgeries: Record<string, () => [headers: Record<string, string>, body: string]> = {
      "without a signature": () => [{ "content-type": "application/json" }, body],
      "signed by somebody else": () => [stranger.signed(body, at()), body],
      "with a body that was changed": () => [webhook.signed(body, at()), body.replace("550", "551")],
      "with a blank more": () => [webhook.signed(body, at()), `${body} `],
      "cut off": () => [webhook.signed(body, at()), body.slice(0, -1)],
      "with another's signature": () => [webhook.signed("[]", at()), body],
      "signed more than a day ago": () => [webhook.signed(body, later(-25 * 3_600_000)), body],
      "signed in the future": () => [webhook.signed(body, later(6 * 60_000)), body],
      "with a newer time than was signed": () => {
        const time = String(Math.floor(later(10_000).getTime() / 1000));
        return [{ ...webhook.signed(body, at()), "x-twilio-email-event-webhook-timestamp": time }, body];
      },
      "with a signature that is none": () => [
        { ...webhook.signed(body, at()), "x-twilio-email-event-webhook-signature": "MEUC!!" },
        body,
      ],
      "with an empty body": () => [webhook.signed(body, at()), ""],
    };
    for (const [what, made] of Object.entries(forgeries)) {
      it(`a call for SendGrid's events ${what} is refused with 401 and records nothing`, async () => {
        const before = await service.store.head();
        const answer = await send(...made());
        expect([answer.status, (await answer.json()).error]).to.deep.equal([401, "unauthorized"]);
        expect(await service.store.head()).to.equal(before);
        expect(await deliveryStatus(untouched)).to.equal("sent");
      });
    }

    it("a signed call 23 hours old or 4 minutes early is accepted", async () => {
      for (const ms of [-23 * 3_600_000, 4 * 60_000]) expect((await post([], later(ms))).status).to.equal(200);
    });

    it("a signed call that is too large or not JSON is refused", async () => {
      const large = `[${"0,".repeat(2_500_000)}0]`;
      expect((await send(webhook.signed(large, at()), large)).status).to.equal(413);
      expect((await send(webhook.signed("{", at()), "{")).status).to.equal(422);
    });

    it("events about other senders' mail or without a meaning for delivery are acknowledged and change nothing", async () => {
      const before = await service.store.head();
      const foreign = { ...eventOf(untouched.taken, "bounce"), attempt_id: "0199aaaa-0000-7000-8000-000000000001" };
      const odd = [null, 1, "x", [], {}, { event: "bounce" }, { event: "__proto__", attempt_id: "x" }, foreign];
      const unread = ["open", "click", "unsubscribe", "group_resubscribe", "constructor"].map((event) =>
        eventOf(untouched.taken, event),
      );
      const answer = await post([...odd, ...unread]);
      expect([answer.status, await answer.json()]).to.deep.equal([200, { received: 13, recorded: 1 }]);
      expect(await service.store.head()).to.equal(before);
    });

    it("a GET of SendGrid's event path is answered 404", async () => {
      expect((await fetch(`${service.url}/hooks/sendgrid/events`)).status).to.equal(404);
    });
  });

  describe("repeated events in any order", () => {
    /** The events of a mail, in order. */
    const histories: Record<string, string[]> = {
      a: ["processed", "delivered"],
      b: ["processed", "deferred", "deferred", "delivered"],
      c: ["processed", "bounce"],
      d: ["processed", "delivered", "bounce"],
      e: ["processed", "delivered", "spamreport"],
      f: ["dropped"],
      g: ["processed"],
      lost1: ["processed", "deferred", "delivered"],
      lost2: ["processed", "bounce"],
      lost3: ["dropped"],
    };

    const settled = (one: Sent) => until(async () => (await draft(one.draftId, one.n)).status !== "sending");

    const names = inFull ? Object.keys(histories) : ["d", "f", "lost1", "lost3"];

    it("SendGrid's events in any order and up to 46 times each lead to the same state as in order", async function () {
      if (inFull) this.timeout(600_000);
      const pairs: { name: string; inOrder: Sent; shuffled: Sent }[] = [];
      for (let round = 0; round < sized(1, 10); round++) {
        for (const [n, name] of names.entries()) {
          const both = await Promise.all([0, 1].map(() => sent(name.replace(/\d$/, ""), n % 2)));
          pairs.push({ name, inOrder: both[0]!, shuffled: both[1]! });
        }
      }
      for (const { name, inOrder } of pairs)
        for (const kind of histories[name]!) await told([eventOf(inOrder.taken, kind)]);

      const copies = (event: MockEvent) =>
        Array.from({ length: 1 + Math.floor(Math.random() * sized(10, 46)) }, (_, n) =>
          n % 3 === 2 ? { ...event, sg_event_id: `again-${n}` } : event,
        );
      const events = pairs.flatMap(({ name, shuffled }) =>
        histories[name]!.flatMap((kind) => copies(eventOf(shuffled.taken, kind))),
      );
      const total = sized(events.length, 10_000);
      while (events.length < total) events.push(events[Math.floor(Math.random() * events.length)]!);
      const forged = mockEventWebhook();
      const order = events.map((event) => ({ event, at: Math.random() })).sort((one, other) => one.at - other.at);
      const began = performance.now();
      for (let at = 0; at < order.length; at += 500) {
        const batch = order.slice(at, at + 500).map(({ event }) => event);
        await told(batch);
        const wrong = batch.map((event) => ({ ...event, event: "spamreport" }));
        expect((await forged.post(service.url, wrong, service.clock.now())).status).to.equal(401);
      }
      const seconds = (performance.now() - began) / 1000;
      if (sized(0, 1))
        console.log(`${events.length} events in ${seconds.toFixed(1)} s: ${Math.round(events.length / seconds)}/s`);

      for (const { inOrder, shuffled } of pairs) await Promise.all([settled(inOrder), settled(shuffled)]);
      const toldOf = await kinds();
      const state = async (one: Sent) => {
        const { status, failure_code } = await draft(one.draftId, one.n);
        return { status, failure_code, delivery: await deliveryStatus(one), kinds: toldOf.get(one.draftId) };
      };
      for (const { name, inOrder, shuffled } of pairs) {
        const [one, other] = [await state(inOrder), await state(shuffled)];
        expect(other, name).to.deep.equal(one);
        expect(one.status, name).to.equal(name === "lost3" ? "failed" : "sent");
      }
    });
  });
});

describe("a service without a key for SendGrid's events", () => {
  it("a service without a public key for SendGrid's events has no route for them", async () => {
    const { sendGridEvents } = await import("#src/http/hooks/sendGrid/events.ts");
    const router = sendGridEvents({ publicKey: undefined } as never);
    expect(router.stack).to.have.length(0);
  });
});
