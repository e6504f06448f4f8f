import { expect } from "chai";
import Stripe from "stripe";
import {
  type PaymentProcessor,
  ProcessorRefused,
  ProcessorUnavailable,
} from "#src/platform/payments/paymentProcessor.ts";
import { apiVersion, type StripeOptions, stripeProcessor } from "#src/platform/payments/stripe/stripeProcessor.ts";
import {
  type MockStripe,
  type StripeFault,
  secretKey,
  signedCall,
  startMockStripe,
  webhookSecret,
} from "#test/support/stripe/mockStripe.ts";

const prices = {
  pro: { monthly: "price_pro_monthly", annual: "price_pro_annual" },
  agency: { monthly: "price_agency_monthly", annual: "price_agency_annual" },
};

describe("Stripe, over our own mock of its API", () => {
  let mock: MockStripe;
  let stripe: PaymentProcessor;
  const at = (more: Partial<StripeOptions> = {}) =>
    stripeProcessor({
      ...{ secretKey, webhookSecrets: [webhookSecret], prices, apiBase: mock.url, clock: { now: () => new Date() } },
      ...more,
    });
  before(async () => {
    mock = await startMockStripe();
    stripe = at();
  });
  afterEach(() => mock.mend());
  after(() => mock.close());

  const newCustomer = async () =>
    (await stripe.createCustomer({ workspaceId: crypto.randomUUID(), name: "Acme" })).customerId;
  const request = (customerId: string) => ({
    ...{
      customerId,
      workspaceId: "w1",
      plan: "pro" as const,
      interval: "annual" as const,
      trialDays: 30 as number | null,
    },
    ...{ requestKey: "r1", cancelUrl: "https://mail.example/billing" },
    successUrl: "https://mail.example/billing?session_id={CHECKOUT_SESSION_ID}",
  });

  it("Stripe makes one customer of a workspace, also if the first answer was lost and the name has changed", async () => {
    const workspaceId = crypto.randomUUID();
    mock.breakDown(/^POST \/v1\/customers$/, "lost answer", 1);
    const { customerId } = await stripe.createCustomer({ workspaceId, name: "Acme" });
    expect(await stripe.createCustomer({ workspaceId, name: "Acme & Sons" })).to.deep.equal({ customerId });
    const all = [...mock.model.customers.values()].filter(({ metadata }) => metadata.workspace_id === workspaceId);
    expect(all.map(({ id, name }) => [id, name])).to.deep.equal([[customerId, "Acme & Sons"]]);
    const another = await stripe.createCustomer({ workspaceId, name: "Acme", insteadOf: customerId });
    expect(another.customerId).to.not.equal(customerId);
  });

  const names: [what: string, given: string, shown: string][] = [
    ["a letter beyond the BMP at the limit", `${"a".repeat(249)}𝒜`, "a".repeat(249)],
    ["such letters alone", `a${"𝒜".repeat(150)}`, `a${"𝒜".repeat(124)}`],
    ["a family at the limit", `${"a".repeat(245)}👨‍👩‍👧‍👦`, "a".repeat(245)],
    ["an accent at the limit", `${"a".repeat(249)}e\u0301`, "a".repeat(249)],
    ["a flag at the limit", `${"a".repeat(248)}🇩🇪`, "a".repeat(248)],
  ];
  for (const [what, name, shown] of names) {
    it(`Stripe's customer gets a name that is cut between characters: ${what}`, async () => {
      const { customerId } = await stripe.createCustomer({ workspaceId: crypto.randomUUID(), name });
      expect(mock.model.customers.get(customerId)!.name).to.equal(shown);
    });
  }

  for (const fault of ["hang up", "silence", { status: 400, body: "{}" }, { status: 500, body: "" }] as const) {
    it(`Stripe's customer is made although its name cannot be set: ${JSON.stringify(fault)}`, async () => {
      mock.breakDown(/^POST \/v1\/customers\/\w+$/, fault);
      const hasty = at({ attemptMs: fault === "silence" ? 40 : 10_000 });
      const { customerId } = await hasty.createCustomer({ workspaceId: crypto.randomUUID(), name: "Acme" });
      expect(mock.model.customers.has(customerId)).to.equal(true);
    });
  }

  it("Stripe opens a checkout with all that belongs to it, and the same one when repeated", async () => {
    const customerId = await newCustomer();
    const opened = await stripe.checkout(request(customerId));
    const call = mock.calls.findLast(({ path }) => path === "/v1/checkout/sessions")!;
    expect(call.parameters).to.deep.equal({
      ...{ mode: "subscription", customer: customerId, client_reference_id: "w1", payment_method_collection: "always" },
      ...{ "line_items[0][price]": "price_pro_annual", "line_items[0][quantity]": "1" },
      ...{ "metadata[workspace_id]": "w1", "metadata[plan]": "pro", "subscription_data[trial_period_days]": "30" },
      ...{ "subscription_data[metadata][workspace_id]": "w1", "subscription_data[metadata][plan]": "pro" },
      success_url: "https://mail.example/billing?session_id={CHECKOUT_SESSION_ID}",
      cancel_url: "https://mail.example/billing",
    });
    expect(call.version).to.equal(apiVersion);
    expect(opened.url).to.contain(opened.sessionId);
    expect(Date.parse(opened.expiresAt)).to.be.greaterThan(Date.now());
    expect(await stripe.checkout(request(customerId))).to.deep.equal(opened);
    const paid = await stripe.checkout({ ...request(customerId), trialDays: null });
    expect(paid.sessionId).to.not.equal(opened.sessionId);
    expect(mock.calls.at(-1)!.parameters).to.not.have.property("subscription_data[trial_period_days]");
  });

  it("an open Stripe checkout is ended, and a checkout that was completed first is reported", async () => {
    const customerId = await newCustomer();
    const first = await stripe.checkout(request(customerId));
    expect(await stripe.checkoutSession(first.sessionId)).to.deep.equal({
      customerId,
      status: "open",
      subscriptionId: null,
    });
    expect(await stripe.expireCheckout(first.sessionId)).to.equal("expired");
    expect(await stripe.expireCheckout(first.sessionId)).to.equal("expired");
    const second = await stripe.checkout({ ...request(customerId), requestKey: "r2" });
    const { id } = mock.model.completeCheckout(second.sessionId);
    expect(await stripe.expireCheckout(second.sessionId)).to.equal("complete");
    expect(await stripe.checkoutSession(second.sessionId)).to.deep.equal({
      customerId,
      status: "complete",
      subscriptionId: id,
    });
    expect(await stripe.checkoutSession("cs_test_nobody")).to.equal(undefined);
    expect(await stripe.expireCheckout("cs_test_nobody")).to.equal("expired");
  });

  it("the Stripe portal is opened, with its configuration if there is one", async () => {
    const customerId = await newCustomer();
    const { url } = await stripe.portal({ customerId, returnUrl: "https://mail.example/billing" });
    expect(url).to.match(/^https:\/\/billing\.stripe\.example\//);
    expect(mock.calls.at(-1)!.parameters).to.deep.equal({
      customer: customerId,
      return_url: "https://mail.example/billing",
    });
    await at({ portalConfiguration: "bpc_1" }).portal({ customerId, returnUrl: "https://mail.example/billing" });
    expect(mock.calls.at(-1)!.parameters).to.include({ configuration: "bpc_1" });
  });

  it("Stripe's subscriptions are read newest first, with the plan by the price and the period of the item", async () => {
    const customerId = await newCustomer();
    expect(await stripe.subscriptionsOf(customerId)).to.deep.equal([]);
    const { model } = mock;
    const old = model.subscribe({ customer: customerId, price: "price_agency_annual", trialDays: null });
    model.update(old.id, { created: 1_000_000_000 });
    const item = old.items.data[0] as Partial<(typeof old.items.data)[0]>;
    Object.assign(old, {
      current_period_start: 1_600_000_000,
      current_period_end: 1_631_536_000,
      cancel_at_period_end: true,
    });
    delete item.current_period_start;
    delete item.current_period_end;
    const fresh = model.subscribe({ customer: customerId, price: "price_unknown", trialDays: 30 });
    const [first, second] = (await stripe.subscriptionsOf(customerId)) as object[];
    expect(first).to.include({
      id: fresh.id,
      status: "trialing",
      priceId: "price_unknown",
      plan: null,
      interval: null,
    });
    expect(first).to.include({
      customerId,
      cancelAt: null,
      trialEnd: new Date(fresh.trial_end! * 1_000).toISOString(),
    });
    expect(second).to.include({ id: old.id, status: "active", plan: "agency", interval: "annual", trialEnd: null });
    expect(second).to.include({ periodStart: "2020-09-13T12:26:40.000Z", periodEnd: "2021-09-13T12:26:40.000Z" });
    expect(second).to.include({ cancelAt: "2021-09-13T12:26:40.000Z", createdAt: "2001-09-09T01:46:40.000Z" });
  });

  it("a Stripe subscription that ended unpaid is distinguished from one that its customer ended", async () => {
    const customer = await newCustomer();
    const reasons = ["payment_failed", "cancellation_requested", null, undefined];
    for (const reason of reasons) {
      const given = mock.model.subscribe({ customer, price: "price_pro_monthly", trialDays: null });
      Object.assign(given, { status: "canceled", cancellation_details: reason === undefined ? null : { reason } });
    }
    const ended = (await stripe.subscriptionsOf(customer)) as { endedUnpaid: boolean }[];
    expect(ended.map(({ endedUnpaid }) => endedUnpaid).sort()).to.deep.equal([false, false, false, true]);
  });

  it("a Stripe subscription that ended has its last period as unpaid, except for a change within the period", async () => {
    const { model } = mock;
    const unpaidOf = async (end: (id: string) => void, paid: boolean) => {
      const customer = await newCustomer();
      const { id } = model.subscribe({ customer, price: "price_pro_annual", trialDays: null });
      model.renew(id, { paid });
      end(id);
      const [subscription] = (await stripe.subscriptionsOf(customer)) as { endedUnpaid: boolean }[];
      return subscription!.endedUnpaid;
    };
    const cancel = (id: string) => model.cancel(id);
    const invoiceOf = (id: string) => model.invoices.get(model.subscriptions.get(id)!.latest_invoice!)!;
    expect(await unpaidOf(cancel, false)).to.equal(true);
    expect(await unpaidOf(cancel, true)).to.equal(false);
    expect(await unpaidOf(() => {}, false), "while it goes on").to.equal(false);
    const forAChange = (id: string) => {
      Object.assign(invoiceOf(id), { billing_reason: "subscription_update" });
      cancel(id);
    };
    expect(await unpaidOf(forAChange, false)).to.equal(false);
  });

  it("a deleted Stripe customer and an unknown one are recognised", async () => {
    const customerId = await newCustomer();
    mock.model.subscribe({ customer: customerId, price: "price_pro_monthly", trialDays: null });
    mock.model.deleteCustomer(customerId);
    expect(await stripe.subscriptionsOf(customerId)).to.equal("customer_deleted");
    expect(await stripe.subscriptionsOf("cus_nobody")).to.equal("customer_unknown");
    for (const call of [
      () => stripe.checkout(request(customerId)),
      () => stripe.portal({ customerId, returnUrl: "https://mail.example/billing" }),
    ]) {
      const failure = await failureOf(call);
      expect(failure).to.be.instanceOf(ProcessorRefused).and.to.include({ code: "resource_missing" });
    }
  });

  it("a Stripe subscription is ended and refunded once, also after a lost answer", async () => {
    const customer = await newCustomer();
    const { id, latest_invoice } = mock.model.subscribe({ customer, price: "price_pro_monthly", trialDays: null });
    mock.breakDown(/^DELETE/, "lost answer", 1);
    mock.breakDown(/^POST \/v1\/refunds$/, "lost answer", 1);
    await stripe.cancelAndRefund(id);
    await stripe.cancelAndRefund(id);
    expect(mock.model.subscriptions.get(id)!.status).to.equal("canceled");
    expect(mock.model.invoices.get(latest_invoice!)!.refunded).to.equal(true);
    const trial = mock.model.subscribe({ customer, price: "price_pro_monthly", trialDays: 30 });
    await stripe.cancelAndRefund(trial.id);
    expect(mock.model.subscriptions.get(trial.id)!.status).to.equal("canceled");
  });

  describe("Stripe's faulty answers", () => {
    const secret = "sk_test_mockmockmockmockmock said somebody";
    const faults: [
      what: string,
      fault: StripeFault,
      expected: typeof ProcessorUnavailable | typeof ProcessorRefused,
    ][] = [
      ["hanging up", "hang up", ProcessorUnavailable],
      ["a minute of silence", "silence", ProcessorUnavailable],
      [
        "429",
        { status: 429, body: `{"error":{"type":"invalid_request_error","message":"${secret}"}}` },
        ProcessorUnavailable,
      ],
      ["500", { status: 500, body: `{"error":{"type":"api_error","message":"${secret}"}}` }, ProcessorUnavailable],
      ["a page of HTML", { status: 200, body: `<html>${secret}</html>`, type: "text/html" }, ProcessorUnavailable],
      ["HTML and 404", { status: 404, body: `<html>${secret}</html>`, type: "text/html" }, ProcessorUnavailable],
      ["a redirect", { status: 302, body: "", headers: { location: "/v1/customers" } }, ProcessorUnavailable],
      ["JSON that is none of its objects", { status: 200, body: '{"hello":"world"}' }, ProcessorUnavailable],
      [
        "JSON that is none of its objects, and 404",
        { status: 404, body: '{"message":"no such page"}' },
        ProcessorUnavailable,
      ],
      ["null", { status: 200, body: "null" }, ProcessorUnavailable],
      ["an error that is no object", { status: 200, body: `{"error":"${secret}"}` }, ProcessorUnavailable],
      ["10 MB", { status: 200, body: `{"a":"${"x".repeat(10_000_000)}"}` }, ProcessorUnavailable],
      ["a key it does not take", { status: 401, body: `{"error":{"message":"${secret}"}}` }, ProcessorUnavailable],
      [
        "a refusal",
        {
          status: 400,
          body: `{"error":{"type":"invalid_request_error","code":"parameter_missing","message":"${secret}"}}`,
        },
        ProcessorRefused,
      ],
    ];
    for (const [what, fault, expected] of faults) {
      it(`a Stripe call fails without repeating the answer after ${what}`, async () => {
        // Only a silent server is waited for until the timeout; every other answer has enough time, even on a busy machine.
        const hasty = at({ attemptMs: fault === "silence" ? 40 : 10_000 });
        const { id } = mock.model.createCustomer();
        const calls = [
          () => hasty.createCustomer({ workspaceId: crypto.randomUUID(), name: "Acme" }),
          () => hasty.checkout(request(id)),
          () => hasty.portal({ customerId: id, returnUrl: "https://mail.example/billing" }),
          () => hasty.checkoutSession("cs_test_1"),
          () => hasty.expireCheckout("cs_test_1"),
          () => hasty.subscriptionsOf(id),
          () => hasty.cancelAndRefund("sub_1"),
        ];
        mock.breakDown(/./, fault);
        const failures = await Promise.all(calls.map(failureOf));
        for (const failure of failures) {
          expect(failure).to.be.instanceOf(expected);
          expect(`${failure}${JSON.stringify(failure)}`)
            .to.not.contain("mockmock")
            .and.not.contain("somebody");
        }
      });
    }

    it("Stripe is unavailable if it does not answer in time, whatever the single attempts say", async () => {
      mock.breakDown(/./, "silence");
      const failure = await failureOf(() => at({ callMs: 30 }).checkoutSession("cs_test_1"));
      expect(failure).to.be.instanceOf(ProcessorUnavailable);
      expect(String(failure)).to.contain("processor did not answer in time");
    });

    it("Stripe is unavailable if an object has an error status or is of another kind", async () => {
      const { id: customer } = mock.model.createCustomer();
      const good = { object: "billing_portal.session", customer, url: "https://pay.example" };
      const asked = { customerId: customer, returnUrl: "https://mail.example/billing" };
      for (const [status, body] of [
        [404, good],
        [200, { ...good, object: "checkout.session" }],
      ] as const) {
        mock.breakDown(/./, { status, body: JSON.stringify(body) });
        expect(await failureOf(() => stripe.portal(asked)), `${status}`).to.be.instanceOf(ProcessorUnavailable);
      }
      mock.breakDown(/./, { status: 200, body: JSON.stringify(good) });
      expect(await stripe.portal(asked)).to.deep.equal({ url: "https://pay.example" });
    });

    it("a checkout of another customer, or with no web page or one of megabytes as its page, is not accepted", async () => {
      const session = (more: object) =>
        JSON.stringify({
          ...{ object: "checkout.session", id: "cs_1", customer: "cus_1", expires_at: 2_000_000_000 },
          ...{ url: "https://pay.example", ...more },
        });
      for (const more of [
        { customer: "cus_other" },
        { url: "javascript:alert(1)" },
        { url: null },
        { object: "list" },
        { padding: "x".repeat(4_100_000) },
      ]) {
        mock.breakDown(/./, { status: 200, body: session(more) });
        const asked = stripeProcessor({
          ...{ secretKey, webhookSecrets: [], prices, apiBase: mock.url, clock: { now: () => new Date() } },
        });
        expect(
          await failureOf(() => asked.checkout(request("cus_1"))),
          JSON.stringify(more).slice(0, 99),
        ).to.be.instanceOf(ProcessorUnavailable);
      }
    });
  });

  describe("Stripe's webhook calls", () => {
    const event = () => {
      const { model } = mock;
      const { id } = model.createCustomer();
      return [id, model.subscribe({ customer: id, price: "price_pro_monthly", trialDays: 30 })] as const;
    };
    const read = (call: { body: string | Buffer; signature: string | undefined }, from = stripe) =>
      from.eventIn({ ...call, body: Buffer.from(call.body) });

    it("a Stripe webhook names a customer, a subscription and a session, wherever the event has them", () => {
      const [customerId, { id: subscriptionId }] = event();
      const [created, paid] = mock.model.events.slice(-2);
      expect(read(signedCall(created!))).to.deep.equal({
        ...{ id: created!.id, type: "customer.subscription.created", customerId, subscriptionId },
        ...{ checkoutSessionId: null, createdAt: new Date(created!.created * 1_000).toISOString() },
      });
      expect(read(signedCall(paid!))).to.include({ type: "invoice.paid", customerId, subscriptionId });
      const older = {
        ...paid!,
        data: { object: { object: "invoice", customer: { id: "cus_2" }, subscription: "sub_2" } },
      };
      expect(read(signedCall(older))).to.include({ customerId: "cus_2", subscriptionId: "sub_2" });
      const session = mock.model.tell("checkout.session.expired", {
        object: "checkout.session",
        id: "cs_1",
        customer: "cus_1",
      });
      expect(read(signedCall(session))).to.include({
        customerId: "cus_1",
        checkoutSessionId: "cs_1",
        subscriptionId: null,
      });
      const about = mock.model.tell("price.updated", { object: "price", id: "price_1" });
      expect(read(signedCall(about))).to.include({ customerId: null, subscriptionId: null });
    });

    it("a Stripe webhook is accepted under either of two secrets, and no other", () => {
      event();
      const two = at({ webhookSecrets: ["whsec_nextnextnextnextnext", webhookSecret] });
      const news = mock.model.events.at(-1)!;
      for (const secret of ["whsec_nextnextnextnextnext", webhookSecret])
        expect(read(signedCall(news, { secret }), two)).to.include({ id: news.id });
      expect(read(signedCall(news, { secret: "whsec_forgedforgedforged" }), two)).to.equal("forged");
      expect(read(signedCall(news, { secret: "whsec_nextnextnextnextnext" }))).to.equal("forged");
    });

    it("a Stripe webhook that is forged, changed, cut, old, unsigned or no event is refused", () => {
      event();
      const news = mock.model.events.at(-1)!;
      const good = signedCall(news);
      expect(read(good)).to.include({ id: news.id });
      expect(read({ ...good, body: good.body.replace("29", "30").replace("paid", "void") })).to.equal("forged");
      expect(read({ ...good, body: good.body.slice(0, -1) })).to.equal("forged");
      expect(read({ ...good, body: "" })).to.equal("forged");
      for (const signature of [undefined, "", "t=1,v1=", "v1=abc", `${good.signature},t=x`, "t=1,".repeat(1_000)])
        expect(read({ ...good, signature }), signature).to.equal("forged");
      expect(read(signedCall(news, { atMs: Date.now() - 301_000 }))).to.equal("forged");
      expect(read(signedCall(news, { atMs: Date.now() - 200_000 }))).to.include({ id: news.id });
      for (const nothing of [
        {},
        [],
        null,
        "x",
        "forged",
        { ...news, object: "list" },
        { ...news, id: 1 },
        { ...news, data: {} },
      ])
        expect(read(signedCall(nothing as never)), JSON.stringify(nothing)).to.equal("not_a_snapshot");
    });

    it("a Stripe webhook that is signed and no snapshot is told from a forged one, under either of two secrets", () => {
      const two = at({ webhookSecrets: ["whsec_nextnextnextnextnext", webhookSecret] });
      const thin = { id: "evt_test_1", object: "v2.core.event", type: "v1.customer.updated", created: "2026-11-29" };
      const about = { related_object: { id: "cus_1", type: "customer", url: "/v1/customers/cus_1" } };
      const bodies = [
        JSON.stringify({ ...thin, ...about }),
        JSON.stringify({ ...thin, type: "v2.core.account.updated" }),
        JSON.stringify({ "detail-type": "customer.updated", source: "aws.partner/stripe.com", detail: thin }),
        "not JSON",
      ];
      for (const payload of bodies) {
        const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: webhookSecret });
        expect(read({ body: payload, signature }, two), payload).to.equal("not_a_snapshot");
        const forged = Stripe.webhooks.generateTestHeaderString({ payload, secret: "whsec_forgedforgedforged" });
        expect(read({ body: payload, signature: forged }, two), payload).to.equal("forged");
      }
    });
  });
});

const failureOf = (call: () => Promise<unknown>): Promise<unknown> =>
  call().then(
    (value) => `it answered ${JSON.stringify(value)}`,
    (error: unknown) => error,
  );
