import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { createEmulator, type Emulator } from "emulate";
import type { PaymentProcessor } from "#src/platform/payments/paymentProcessor.ts";
import { readEvent } from "#src/platform/payments/stripe/events.ts";
import { signedContent } from "#src/platform/payments/stripe/signatures.ts";
import { stripeProcessor } from "#src/platform/payments/stripe/stripeProcessor.ts";
import { freePort } from "../../../scripts/support/freePort.ts";

const secret = "whsec_emulatedemulated";

/**
 * Runs against an emulator of Stripe by other authors, which implements customers, prices, checkouts and signed webhooks, but no
 * subscriptions and no portal.
 */
describe("Stripe, over the emulator of `emulate`", () => {
  let emulator: Emulator;
  let stripe: PaymentProcessor;
  const calls: { body: Buffer; signature: string | undefined }[] = [];
  const hooks = createServer(async (request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    calls.push({ body: Buffer.concat(chunks), signature: request.headers["stripe-signature"] as string | undefined });
    response.end();
  });
  before(async () => {
    await once(hooks.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(hooks.address() as AddressInfo).port}/hooks/stripe`;
    const priced = ["pro_monthly", "pro_annual", "agency_monthly", "agency_annual"];
    emulator = await createEmulator({
      service: "stripe",
      port: await freePort(),
      seed: {
        stripe: {
          products: priced.map((name) => ({ name })),
          prices: priced.map((name) => ({
            id: `price_${name}`,
            product_name: name,
            currency: "usd",
            unit_amount: 2_900,
          })),
          webhooks: [{ url, events: ["*"], secret }],
        },
      },
    });
    stripe = stripeProcessor({
      ...{ secretKey: "sk_test_emulated", webhookSecrets: [secret], apiBase: emulator.url },
      prices: {
        pro: { monthly: "price_pro_monthly", annual: "price_pro_annual" },
        agency: { monthly: "price_agency_monthly", annual: "price_agency_annual" },
      },
      clock: { now: () => new Date() },
    });
  });
  after(async () => {
    hooks.closeAllConnections();
    hooks.close();
    await emulator.close();
  });

  const request = (customerId: string, requestKey: string) => ({
    ...{ customerId, requestKey, workspaceId: "w1", plan: "pro" as const, interval: "annual" as const, trialDays: 30 },
    ...{
      successUrl: "http://127.0.0.1:1/billing?session_id={CHECKOUT_SESSION_ID}",
      cancelUrl: "http://127.0.0.1:1/billing",
    },
  });
  /**
   * Returns the signed events of this type. The emulator's events have no id, time or kind, so the test adds them after the signature was
   * checked.
   */
  const told = (type: string) =>
    calls
      .map((call) => signedContent(call, { secrets: [secret], nowMs: Date.now() })?.content as { type?: string })
      .filter((content) => content?.type === type)
      .map((content) => readEvent({ object: "event", id: "evt_1", created: 1_795_000_000, ...content }));

  it("Stripe (emulated) makes a customer, opens a checkout, and its webhooks report the checkout's end", async () => {
    const { customerId } = await stripe.createCustomer({ workspaceId: "w1", name: "Harbour" });
    expect(told("customer.created")).to.have.lengthOf(1);
    expect(told("customer.created")[0]).to.include({ customerId, subscriptionId: null });

    const first = await stripe.checkout(request(customerId, "r1"));
    expect(await stripe.checkoutSession(first.sessionId)).to.deep.equal({
      customerId,
      status: "open",
      subscriptionId: null,
    });
    expect(await stripe.expireCheckout(first.sessionId)).to.equal("expired");
    expect(told("checkout.session.expired")[0]).to.include({ customerId, checkoutSessionId: first.sessionId });

    const second = await stripe.checkout(request(customerId, "r2"));
    const paid = await fetch(`${second.url}/complete`, { method: "POST", redirect: "manual" });
    expect(paid.headers.get("location")).to.equal(`http://127.0.0.1:1/billing?session_id=${second.sessionId}`);
    expect(told("checkout.session.completed")[0]).to.include({ customerId, checkoutSessionId: second.sessionId });
    expect(await stripe.expireCheckout(second.sessionId)).to.equal("complete");
    expect(await stripe.checkoutSession("cs_nobody")).to.equal(undefined);
  });

  it("Stripe (emulated) refuses an unknown customer, and an unknown call is unavailable", async () => {
    const nobody = await stripe.checkout(request("cus_nobody", "r3")).catch((error) => error);
    expect(nobody).to.include({ name: "ProcessorRefused", code: "resource_missing" });
    const { customerId } = await stripe.createCustomer({ workspaceId: "w2", name: "Quay" });
    const portal = await stripe.portal({ customerId, returnUrl: "http://127.0.0.1:1/billing" }).catch((error) => error);
    expect(portal.name).to.equal("ProcessorUnavailable");
  });
});
