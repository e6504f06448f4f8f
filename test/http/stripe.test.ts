import { expect } from "chai";
import { createApiKey } from "#src/commands/apiKeys.ts";
import { callProcessor } from "#src/commands/billing/callProcessor.ts";
import { startCheckout } from "#src/commands/billing/checkout.ts";
import { createWorkspace } from "#src/commands/workspaces.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { processorCustomerStream } from "#streams/processorCustomer/events.ts";
import { type Ask, asking } from "#test/support/asking.ts";
import { operator } from "#test/support/cause.ts";
import { type InProcess, startInProcess, until } from "#test/support/inProcess.ts";
import {
  type MockStripe,
  type StripeFault,
  secretKey,
  signedCall,
  startMockStripe,
  webhookSecret,
} from "#test/support/stripe/mockStripe.ts";
import type { StripeEvent } from "#test/support/stripe/model.ts";

const nextSecret = "whsec_nextnextnextnextnext";

describe("billing through Stripe, against a mock of its API", () => {
  let mock: MockStripe;
  let service: InProcess;
  before(async () => {
    mock = await startMockStripe();
    service = await startInProcess({
      STRIPE_API_BASE: mock.url,
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: `${nextSecret},${webhookSecret}`,
      STRIPE_PRICE_PRO_MONTHLY: "price_pro_monthly",
      STRIPE_PRICE_PRO_ANNUAL: "price_pro_annual",
      STRIPE_PRICE_AGENCY_MONTHLY: "price_agency_monthly",
      STRIPE_PRICE_AGENCY_ANNUAL: "price_agency_annual",
      LOG_LEVEL: "silent",
    });
  });
  afterEach(() => mock.mend());
  after(async () => {
    await service.stop();
    await mock.close();
  });

  const billingOf = async (id: string) => (await service.deps.billings.load(id)).state;

  async function newWorkspace() {
    const { workspaceId } = await createWorkspace(
      service.deps,
      { name: "Harbour", plan: "builder_pack", betaOverride: false },
      operator(),
    );
    const wanted = { workspaceId, name: "test key", scopes: allScopes };
    const { key } = await createApiKey(service.deps, wanted, operator(workspaceId));
    await service.caughtUp();
    const ask: Ask = asking(service.url, key);
    const checkout = (plan = "pro", interval = "monthly") =>
      ask("POST /v1/billing/checkout", { json: { plan, interval } });
    return { workspaceId, ask, checkout, portal: () => ask("POST /v1/billing/portal") };
  }

  /** Makes a workspace that has a customer at Stripe. */
  async function tenant() {
    const made = await newWorkspace();
    await until(async () => (await billingOf(made.workspaceId)).customerId !== null);
    const customerId = (await billingOf(made.workspaceId)).customerId!;
    const sessions = () => [...mock.model.sessions.values()].filter(({ customer }) => customer === customerId);
    const planIs = (fields: object) =>
      until(async () => {
        const { json } = await made.ask("GET /v1/billing/subscription");
        return Object.entries(fields).every(([name, value]) => json[name] === value);
      });
    return { ...made, customerId, sessions, planIs };
  }

  const post = async (body: string, headers: Record<string, string> = {}) =>
    fetch(`${service.url}/hooks/stripe`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
  const deliver = async (event: StripeEvent, how: Parameters<typeof signedCall>[1] = {}) => {
    const { body, signature } = signedCall(event, how);
    return (await post(body, { "stripe-signature": signature })).status;
  };
  const deliverAll = async () => {
    for (const event of mock.model.events.splice(0)) expect(await deliver(event)).to.equal(200);
  };
  const page = async (query = "") => {
    const answer = await fetch(`${service.url}/billing${query}`);
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };

  it("a checkout has a trial and asks for the card; the plan changes when Stripe reports it as completed [4 POST /v1/billing/checkout] [2 Subscription] [d10 checkout]", async () => {
    const { workspaceId, checkout, sessions, planIs, customerId } = await tenant();
    const { status, json } = await checkout("agency", "annual");
    expect([status, Object.keys(json)]).to.deep.equal([200, ["checkout_url"]]);
    const [session] = sessions();
    expect(json.checkout_url).to.equal(session!.url);
    const { parameters } = mock.calls.findLast(({ path }) => path === "/v1/checkout/sessions")!;
    expect(parameters).to.include({
      ...{ customer: customerId, client_reference_id: workspaceId, payment_method_collection: "always" },
      ...{ "line_items[0][price]": "price_agency_annual", "subscription_data[trial_period_days]": "30" },
      ...{ "metadata[workspace_id]": workspaceId, "subscription_data[metadata][plan]": "agency" },
      success_url: "http://localhost:8080/billing?session_id={CHECKOUT_SESSION_ID}",
      cancel_url: "http://localhost:8080/billing",
    });
    const shown = () => page(`?session_id=${session!.id}`);
    expect((await shown()).text).to.contain("This checkout is not finished");
    mock.model.completeCheckout(session!.id);
    await deliverAll();
    await planIs({ plan: "agency", plan_status: "trialing", interval: "annual" });
    const { text } = await shown();
    expect(text).to.contain("Your plan is Business").and.contain("The trial ends on").and.contain("by the year");
    expect(text).to.not.contain("http-equiv").and.not.contain("Harbour").and.not.contain(workspaceId);
  });

  it("the billing page asks Stripe for a finished checkout whose webhook was lost, and says so while it waits [d10 checkout]", async () => {
    const { checkout, sessions, planIs } = await tenant();
    await checkout();
    const [session] = sessions();
    mock.model.completeCheckout(session!.id);
    mock.model.events.splice(0);
    mock.breakDown(/^GET/, { status: 503, body: "<html>" });
    const waiting = await page(`?session_id=${session!.id}`);
    expect(waiting.text).to.contain("being confirmed").and.contain('<meta http-equiv="refresh" content="10">');
    mock.mend();
    // A check by the service that began earlier may have found it already.
    expect((await page(`?session_id=${session!.id}`)).text).to.match(/being confirmed|Your plan is Pro/);
    await planIs({ plan: "pro", plan_status: "trialing" });
    expect((await page(`?session_id=${session!.id}`)).text).to.contain("Your plan is Pro");
  });

  it("of parallel checkouts one can be finished; after that no other is opened [d10 checkout]", async () => {
    const { checkout, sessions, planIs } = await tenant();
    const answers = await Promise.all(["pro", "agency", "pro", "agency"].map((plan) => checkout(plan)));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
    const urls = answers.map(({ json }) => json.checkout_url as string);
    expect(new Set(urls)).to.have.lengthOf(4);
    const open = () => sessions().filter(({ status }) => status === "open");
    expect(open()).to.have.lengthOf(1);
    expect(urls).to.include(open()[0]!.url);
    await checkout();
    expect(open()).to.have.lengthOf(1);
    // The owner completes it in another tab, and Stripe's webhook has not arrived.
    mock.model.completeCheckout(open()[0]!.id);
    mock.model.events.splice(0);
    const late = await Promise.all([checkout(), checkout()]);
    for (const { outcome, json } of late) {
      expect(outcome).to.equal("409 invalid_request");
      expect(json.message).to.contain("POST /v1/billing/portal");
    }
    expect(open()).to.have.lengthOf(0);
    await planIs({ plan: "pro" });
    expect((await checkout()).status).to.equal(409);
    expect(sessions().filter(({ status }) => status === "complete")).to.have.lengthOf(1);
  });

  it("a trial is offered once; after the subscription ended a checkout without a trial can be opened [d10 checkout]", async () => {
    const { checkout, sessions, planIs } = await tenant();
    await checkout();
    const { id } = mock.model.completeCheckout(sessions()[0]!.id);
    await deliverAll();
    await planIs({ plan: "pro", plan_status: "trialing" });
    mock.model.cancel(id);
    await deliverAll();
    await planIs({ plan_status: "canceled" });
    expect((await page(`?session_id=${sessions()[0]!.id}`)).text).to.contain("This subscription has ended");
    expect((await checkout()).status).to.equal(200);
    const again = sessions().at(-1)!;
    expect([again.status, again.trialDays]).to.deep.equal(["open", null]);
    mock.model.completeCheckout(again.id);
    await deliverAll();
    await planIs({ plan: "pro", plan_status: "active" });
  });

  it("no second trial is offered if the first one ended and its webhooks were lost [d10 checkout]", async () => {
    const { checkout, sessions } = await tenant();
    await checkout();
    mock.model.cancel(mock.model.completeCheckout(sessions()[0]!.id).id);
    mock.model.events.splice(0);
    expect((await checkout()).status).to.equal(200);
    expect(sessions().map(({ status, trialDays }) => [status, trialDays])).to.deep.equal([
      ["complete", 30],
      ["open", null],
    ]);
  });

  it("a new customer is made if Stripe has deleted the old one or does not know it [d10 customer]", async () => {
    const ways: ((customerId: string) => void)[] = [
      (customerId) => mock.model.deleteCustomer(customerId),
      (customerId) => void mock.model.customers.delete(customerId),
    ];
    /** Waits for the read that follows a new customer. */
    const customerWasRead = (customerId: string) =>
      until(async () =>
        mock.calls.some(({ method, path }) => `${method} ${path}` === `GET /v1/customers/${customerId}`),
      );
    for (const lose of ways) {
      const { workspaceId, customerId, checkout, portal } = await tenant();
      await customerWasRead(customerId);
      lose(customerId);
      mock.model.events.splice(0);
      expect((await portal()).outcome).to.equal("422 stripe_customer_missing");
      await until(async () => ![null, customerId].includes((await billingOf(workspaceId)).customerId));
      expect((await portal()).status).to.equal(200);
      const next = (await billingOf(workspaceId)).customerId!;
      await customerWasRead(next);
      lose(next);
      mock.model.events.splice(0);
      expect((await checkout()).json.error).to.equal("stripe_customer_missing");
      await until(async () => (await checkout()).status === 200);
    }
  });

  it("a checkout that is repeated under one Idempotency-Key opens one session", async () => {
    const { ask, sessions } = await tenant();
    const once = { json: { plan: "pro", interval: "monthly" }, headers: { "Idempotency-Key": "the same" } };
    const [first, second] = [
      await ask("POST /v1/billing/checkout", once),
      await ask("POST /v1/billing/checkout", once),
    ];
    expect(second.json).to.deep.equal(first.json);
    expect(sessions()).to.have.lengthOf(1);
  });

  it("a repeated checkout whose first run was interrupted opens a new session and expires the first one", async () => {
    const { workspaceId, sessions } = await tenant();
    const wanted = { workspaceId, plan: "pro", interval: "monthly" } as const;
    const cause = { ...operator(workspaceId), operation: crypto.randomUUID() };
    const first = await startCheckout(service.deps, wanted, cause);
    const second = await startCheckout(service.deps, wanted, { ...cause, repeated: true });
    expect(second.url).to.not.equal(first.url);
    expect(sessions().map(({ status }) => status)).to.deep.equal(["expired", "open"]);
  });

  it("the portal opens for the workspace's customer [4 POST /v1/billing/portal]", async () => {
    const { portal, customerId } = await tenant();
    const { status, json } = await portal();
    expect([status, json]).to.deep.equal([
      200,
      { portal_url: `https://billing.stripe.example/p/session/${customerId}` },
    ]);
    const asked = mock.calls.findLast(({ path }) => path === "/v1/billing_portal/sessions")!;
    expect(asked.parameters).to.deep.equal({ customer: customerId, return_url: "http://localhost:8080/billing" });
  });

  it("checkout and portal are refused until the workspace has a customer at Stripe [7 422 stripe_customer_missing] [d10 customer]", async () => {
    mock.breakDown(/^POST \/v1\/customers$/, { status: 503, body: "" });
    const { workspaceId, checkout, portal } = await newWorkspace();
    for (const { outcome } of [await checkout(), await portal()])
      expect(outcome).to.equal("422 stripe_customer_missing");
    mock.mend();
    await until(async () => (await billingOf(workspaceId)).customerId !== null);
    expect((await checkout()).status).to.equal(200);
  });

  const faults: [what: string, fault: StripeFault][] = [
    ["hangs up", "hang up"],
    [
      "takes no more requests",
      { status: 429, body: '{"error":{"type":"invalid_request_error"}}', headers: { "retry-after": "60" } },
    ],
    ["answers with HTML", { status: 200, body: "<html>down for maintenance</html>", type: "text/html" }],
    [
      "answers with JSON that is none of its objects",
      { status: 200, body: '{"id":"cs_1","url":"https://evil.example"}' },
    ],
    ["answers with 10 MB", { status: 200, body: `"${"x".repeat(10_000_000)}"` }],
    ["refuses", { status: 400, body: '{"error":{"type":"invalid_request_error","code":"resource_missing"}}' }],
  ];
  it("any fault of Stripe is answered 502, and a later checkout succeeds [7 502 stripe_error]", async () => {
    const { checkout, portal, sessions } = await tenant();
    expect((await checkout()).status).to.equal(200);
    for (const [what, fault] of faults) {
      mock.breakDown(/^POST \/v1\/(billing_portal|checkout)\/sessions$/, fault);
      for (const { status, json, text } of await Promise.all([checkout(), portal()])) {
        expect([status, json.error], what).to.deep.equal([502, "stripe_error"]);
        expect(text).to.not.contain(secretKey).and.not.contain("maintenance");
      }
      mock.mend();
      mock.breakDown(/expire$|^GET/, fault);
      expect((await checkout()).status, `expire ${what}`).to.equal(what === "refuses" ? 200 : 502);
      mock.mend();
    }
    expect((await checkout()).status).to.equal(200);
    expect(sessions().filter(({ status }) => status === "open")).to.have.lengthOf(1);
  });

  it("a request to Stripe that is not answered in time is answered stripe_error [7 502 stripe_error]", async () => {
    const payments = service.deps.payments;
    const never = callProcessor({ payments }, () => new Promise(() => {}), { withinMs: 20 });
    expect(await never.catch(({ code }) => code)).to.equal("stripe_error");
  });

  describe("POST /hooks/stripe", () => {
    const noticed = async (customerId: string) =>
      (
        await service.deps.store.readPage(processorCustomerStream(customerId), { from: 0, events: 100, bytes: 100_000 })
      ).events
        .filter(({ type }) => type === "ProcessorEventNoticed")
        .map(({ data }) => [data.eventId, data.workspaceId]);

    it("a signed call of Stripe is recorded once, with either secret [d10 hooks]", async () => {
      const { customerId, workspaceId } = await tenant();
      const news = mock.model.tell("customer.updated", { object: "customer", id: customerId });
      expect(await deliver(news, { secret: nextSecret })).to.equal(200);
      const { body, signature } = signedCall(news);
      const again = await Promise.all([1, 2, 3].map(() => post(body, { "stripe-signature": signature })));
      expect(again.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
      expect((await noticed(customerId)).filter(([id]) => id === news.id)).to.deep.equal([[news.id, workspaceId]]);
    });

    it("a call about an unknown customer is recorded and answered 200 [d10 hooks]", async () => {
      const news = mock.model.tell("customer.updated", { object: "customer", id: "cus_of_nobody" });
      expect(await deliver(news)).to.equal(200);
      expect(await noticed("cus_of_nobody")).to.deep.equal([[news.id, null]]);
      expect(await deliver(mock.model.tell("price.updated", { object: "price", id: "price_1" }))).to.equal(200);
    });

    it("a signed call with a thin payload is refused with what to choose at Stripe [d10 hooks]", async () => {
      const thin = { id: "evt_test_thin", object: "v2.core.event", type: "v1.customer.updated", created: "2026-11-29" };
      const { body, signature } = signedCall(thin as never);
      const answer = await post(body, { "stripe-signature": signature });
      expect([answer.status, ((await answer.json()) as any).message]).to.deep.equal([
        400,
        "this call is signed by Stripe, but it is no event with its data: choose the payload style snapshot, not thin, for this endpoint at Stripe",
      ]);
    });

    it("a forged, changed, old, cut, too large, compressed or unsigned call is refused and not recorded [d10 hooks]", async () => {
      const { customerId } = await tenant();
      const news = mock.model.tell("customer.deleted", { object: "customer", id: customerId });
      const { body, signature } = signedCall(news);
      const old = signedCall(news, { atMs: Date.now() - 400_000 });
      const huge = signedCall({ ...news, data: { object: { id: customerId, more: "x".repeat(1_000_001) } } });
      const calls: [string, Record<string, string>][] = [
        [body, {}],
        [body, { "stripe-signature": signedCall(news, { secret: "whsec_forgedforgedforged" }).signature }],
        [body.replace("deleted", "created"), { "stripe-signature": signature }],
        [old.body, { "stripe-signature": old.signature }],
        [body.slice(0, -5), { "stripe-signature": signature }],
        [huge.body, { "stripe-signature": huge.signature }],
        [body, { "stripe-signature": signature, "content-encoding": "gzip" }],
        ["", { "stripe-signature": signature }],
      ];
      for (const [content, headers] of calls) {
        const answer = await post(content, headers);
        expect([answer.status, ((await answer.json()) as any).error], JSON.stringify(headers)).to.deep.equal([
          400,
          "invalid_request",
        ]);
      }
      expect(await noticed(customerId)).to.deep.equal([]);
      expect(
        (await billingOf((await service.deps.processorCustomers.load(customerId)).state.workspaceId!)).customerId,
      ).to.equal(customerId);
    });
  });

  it("/billing shows the plans and how to change them, without a script [d10 page]", async () => {
    const { status, headers, text } = await page();
    expect(status).to.equal(200);
    for (const words of [
      "29 per month",
      "79 per month",
      "15,000 outgoing and 30,000 incoming",
      "no rules",
      "/v1/billing/checkout",
    ])
      expect(text).to.contain(words);
    expect(headers.get("cache-control")).to.equal("no-store");
    expect(headers.get("content-security-policy"))
      .to.contain("default-src 'none'")
      .and.contain("frame-ancestors 'none'");
    expect(headers.get("referrer-policy")).to.equal("no-referrer");
    expect(text).to.not.contain("<script");
  });

  it("/billing asks Stripe for at most four checkouts at a time, whatever ids strangers invent [d10 page]", async () => {
    mock.breakDown(/^GET \/v1\/checkout/, "silence");
    const before = mock.calls.length;
    const ids = [1, 2, 3, 4, 5].map((digit) => `cs_test_${String(digit).repeat(30)}`);
    const pages = ids.map((id) => page(`?session_id=${id}`));
    expect((await Promise.any(pages)).text).to.contain("being confirmed");
    const asked = mock.calls.slice(before).filter(({ path }) => ids.some((id) => path.endsWith(id)));
    expect(new Set(asked.map(({ path }) => path)).size).to.be.at.most(4);
    mock.mend();
    const statuses = (await Promise.all(pages)).map(({ status }) => status);
    expect(statuses.sort()).to.deep.equal([200, 404, 404, 404, 404]);
    expect((await page(`?session_id=${ids[0]}`)).status).to.equal(404);
  });

  it("/billing answers 404 for an unknown or foreign checkout, and asks Stripe for no malformed id [d10 page]", async () => {
    const foreign = mock.model.openCheckout({
      ...{ customer: mock.model.createCustomer().id, client_reference_id: "x", success_url: "", metadata: {} },
      ...{ price: "price_other", trialDays: null, subscriptionMetadata: {} },
    });
    const unknown = await page(`?session_id=cs_test_${"0".repeat(30)}`);
    expect(unknown.status).to.equal(404);
    expect(await page(`?session_id=${foreign.id}`)).to.include({ status: 404, text: unknown.text });
    const asked = mock.calls.length;
    for (const wrong of [
      "",
      "x",
      "cs_1",
      `cs_${"a".repeat(201)}`,
      "cs_test_..%2f..%2fcustomers",
      "{CHECKOUT_SESSION_ID}",
      "cs_a&session_id=cs_b",
    ])
      expect((await page(`?session_id=${wrong}`)).status, wrong).to.equal(404);
    expect(mock.calls.length).to.equal(asked);
    expect((await fetch(`${service.url}/billing`, { method: "POST" })).status).to.equal(405);
  });
});
