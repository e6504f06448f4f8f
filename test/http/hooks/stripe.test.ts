import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import express from "express";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { stripeHook } from "#src/http/hooks/stripe.ts";
import type { ProcessorEvent } from "#src/platform/payments/paymentProcessor.ts";
import { Rejected } from "#streams/decider.ts";

const event: ProcessorEvent = {
  ...{ id: "evt_1", type: "invoice.paid", createdAt: "2026-01-01T00:00:00.000Z" },
  ...{ customerId: "cus_1", subscriptionId: "sub_1", checkoutSessionId: null },
};

/** Posts an event; `answered`: the status, the code and Retry-After. */
async function call(options: Partial<Parameters<typeof stripeHook>[0]>) {
  const failures: unknown[] = [];
  const hook = stripeHook({
    payments: { eventIn: () => event },
    record: async () => {},
    countForged: async () => {},
    onError: (error) => failures.push(error),
    ...options,
  });
  const server = express().use(hook).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/stripe`;
    const answer = await fetch(url, { method: "POST", body: "{}" });
    const { error, message } = (await answer.json()) as { error?: string; message?: string };
    return { answered: [answer.status, error, answer.headers.get("retry-after")], message, failures };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe("the endpoint for Stripe's events", () => {
  it("an event of Stripe is answered 200 once it is recorded", async () => {
    const recorded: ProcessorEvent[] = [];
    const record = async (given: ProcessorEvent) => void recorded.push(given);
    expect((await call({ record })).answered).to.deep.equal([200, undefined, null]);
    expect(recorded).to.deep.equal([event]);
  });

  it("an event of Stripe is answered 503 if the storage is unreachable, and 500 after an internal error", async () => {
    const away = await call({ record: () => Promise.reject(new Unavailable("the log is away")) });
    expect([away.answered, away.failures]).to.deep.equal([[503, "unavailable", null], []]);
    const broken = new Error("a bug");
    const failed = await call({ record: () => Promise.reject(broken) });
    expect([failed.answered, failed.failures]).to.deep.equal([[500, "internal_error", null], [broken]]);
  });

  it("calls that Stripe did not sign are counted and limited, signed ones never", async () => {
    const tooMany = async () => {
      throw new Rejected("rate_limited", "too many", { retryAfter: 7 });
    };
    const forged = {
      payments: { eventIn: () => "forged" as const },
      record: () => Promise.reject(new Error("recorded")),
    };
    expect((await call(forged)).answered).to.deep.equal([400, "invalid_request", null]);
    expect((await call({ ...forged, countForged: tooMany })).answered).to.deep.equal([429, "rate_limited", "7"]);
    expect((await call({ countForged: tooMany })).answered[0]).to.equal(200);
    const thin = { payments: { eventIn: () => "not_a_snapshot" as const }, record: forged.record };
    const signed = await call({ ...thin, countForged: tooMany });
    expect([signed.answered, signed.message?.includes("snapshot")]).to.deep.equal([
      [400, "invalid_request", null],
      true,
    ]);
  });
});
