import { expect } from "chai";
import {
  loadPayer,
  recordProcessorEvent,
  requestSubscriptionRead,
  workspaceOfCustomer,
} from "#src/commands/billing/customers.ts";
import { followSubscriptions as follow } from "#src/commands/billing/subscriptions.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { currentPlan } from "#src/commands/plans/plans.ts";
import { isWithinPlan, takeSlot } from "#src/commands/plans/slots.ts";
import { StreamMoved } from "#src/eventStore/eventStore.ts";
import { systemClock, systemIds } from "#src/platform/clock.ts";
import {
  type PaymentProcessor,
  ProcessorRefused,
  type ProcessorSubscription,
  ProcessorUnavailable,
} from "#src/platform/payments/paymentProcessor.ts";
import { createCustomers } from "#src/processes/createCustomers.ts";
import { followSubscriptions } from "#src/processes/followSubscriptions.ts";
import type { Timer } from "#src/processes/process.ts";
import { isRelevant } from "#src/runtime/work/relevance.ts";
import { system } from "#test/support/cause.ts";
import { workspaceCreated } from "#test/support/examples/index.ts";
import { faultyEventStore } from "#test/support/faultyEventStore.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";
import { tell } from "#test/support/processContext.ts";
import { rule, useWorkTable } from "../runtime/work/support.ts";

const dayMs = 86_400_000;
const began = Date.parse("2026-01-10T00:00:00.000Z");
const days = (count: number): string => new Date(began + count * dayMs).toISOString();

const subscription = (different: Partial<ProcessorSubscription> = {}): ProcessorSubscription => ({
  ...{ id: "sub_1", customerId: "cus_1", status: "active", priceId: "price_1", plan: "pro", interval: "monthly" },
  ...{ periodStart: days(0), periodEnd: days(31), trialEnd: null, cancelAt: null, createdAt: days(0) },
  ...different,
});

/** Makes two workspaces and a payment processor that answers as the test says. */
async function world() {
  const log = createMemoryEventStore();
  let [nowMs, customers] = [began, 0];
  const clock = { now: () => new Date(nowMs), monotonic: () => nowMs };
  const lines: { level: string; details: Record<string, unknown>; message: string }[] = [];
  const asked: string[] = [];
  const state = {
    subscriptions: [] as ProcessorSubscription[] | "customer_deleted" | "customer_unknown",
    failure: null as Error | null,
  };
  const answer = <T>(call: string, value: () => T): Promise<T> => {
    asked.push(call);
    return state.failure ? Promise.reject(state.failure) : Promise.resolve(value());
  };
  const made = new Map<string, string>();
  const payments = {
    createCustomer: ({ workspaceId, insteadOf }) =>
      answer(`create ${workspaceId}`, () => {
        const key = `${workspaceId} ${insteadOf}`;
        made.set(key, made.get(key) ?? `cus_${++customers}`);
        return { customerId: made.get(key)! };
      }),
    subscriptionsOf: (customerId) =>
      answer(`subscriptions of ${customerId}`, () => structuredClone(state.subscriptions)),
    cancelAndRefund: (id) => answer(`end ${id}`, () => undefined),
  } as Partial<PaymentProcessor> as PaymentProcessor;
  const depsOn = (store: typeof log | ReturnType<typeof faultyEventStore>) =>
    ({
      ...createStreamServices({ store, clock, ids: systemIds }),
      ...{ store, clock, settings: {} },
      log: {
        warn: (details: Record<string, unknown>, message: string) =>
          void lines.push({ level: "warn", details, message }),
        error: (details: Record<string, unknown>, message: string) =>
          void lines.push({ level: "error", details, message }),
      },
    }) as unknown as Dependencies;
  const deps = depsOn(log);
  for (const workspaceId of ["one", "two"]) {
    const workspace = workspaceCreated({ name: workspaceId, plan: "builder_pack", createdAt: days(-10) });
    await deps.workspaces.handle(workspaceId, { type: "CreateWorkspace", workspace }, system(workspaceId));
  }
  const creating = (on = deps) => createCustomers(on, payments);
  const following = (on = deps) => followSubscriptions(on, payments);
  const eventOf = (type: string, stream: string) =>
    log.all.filter((event) => event.type === type && event.stream === stream).at(-1)!;
  return {
    ...{ log, deps, depsOn, payments, state, asked, lines, creating, following, eventOf },
    wait: (count: number) => {
      nowMs = began + count * dayMs;
    },
    typesOf: (stream: string) => log.all.filter((event) => event.stream === stream).map(({ type }) => type),
    create: (workspaceId: string, on = deps) =>
      tell(creating(on), eventOf("WorkspaceCreated", `workspace-${workspaceId}`)) as Promise<unknown>,
    look: (workspaceId = "one", on = deps) => follow(on, { workspaceId, payments }, system(workspaceId)),
    plan: (workspaceId = "one") => currentPlan(deps, workspaceId),
  };
}

describe("customers at the payment processor", () => {
  it("a workspace gets one customer at the payment processor, which leads back to it", async () => {
    const { create, deps, asked, typesOf } = await world();
    await create("one");
    await create("one");
    await create("two");
    expect(asked).to.deep.equal(["create one", "create two"]);
    expect([await workspaceOfCustomer(deps, "cus_1"), await workspaceOfCustomer(deps, "cus_2")]).to.deep.equal([
      "one",
      "two",
    ]);
    expect(await workspaceOfCustomer(deps, "cus_9")).to.equal(null);
    expect((await loadPayer(deps, "two")).customerId).to.equal("cus_2");
    expect(typesOf("billing-one")).to.deep.equal(["CustomerCreated"]);
  });

  it("a workspace gets one customer although two instances create it or one is cut off", async () => {
    const { create, depsOn, log, typesOf, asked } = await world();
    await Promise.all([create("one", depsOn(log)), create("one", depsOn(log))]);
    expect([typesOf("billing-one"), typesOf("processorCustomer-cus_1")]).to.deep.equal([
      ["CustomerCreated"],
      ["CustomerLinked"],
    ]);
    for (const [workspaceId, at] of [
      ["two", 1],
      ["two", 2],
    ] as const) {
      const store = faultyEventStore(log, { at, when: "before", how: "unavailable" });
      const failure = await create(workspaceId, depsOn(store)).catch((error) => error);
      expect(failure).to.be.an("error");
    }
    await create("two");
    expect([typesOf("billing-two"), typesOf("processorCustomer-cus_2")]).to.deep.equal([
      ["CustomerCreated"],
      ["CustomerLinked"],
    ]);
    expect(asked.filter((call) => call === "create two")).to.have.length(3);
    expect(typesOf("processorCustomer-cus_3")).to.deep.equal([]);
  });

  it("creating a customer is retried forever with growing pauses and log lines, and never parked", async () => {
    const { creating, eventOf, state, lines } = await world();
    const process = creating();
    const event = eventOf("WorkspaceCreated", "workspace-one");
    const pauses = async (failure: Error, ...attempts: number[]) => {
      state.failure = failure;
      const answers = [];
      for (const attempt of attempts) answers.push(await tell(process, event, { attempt }));
      return answers.map((answer) => (answer as { againInMs: number }).againInMs);
    };
    expect(await pauses(new ProcessorUnavailable("it is away"), 1, 2, 6, 600)).to.deep.equal([
      2_000, 5_000, 60_000, 60_000,
    ]);
    expect(await pauses(new ProcessorRefused("it says no", "no"), 1, 600)).to.deep.equal([10_000, 600_000]);
    expect(lines.map(({ level, message }) => [level, message])).to.deep.include.members([
      ["warn", "the payment processor cannot be reached, retrying"],
      ["error", "the payment processor refused, retrying"],
    ]);
    expect(lines[0]!.details).to.include({ workspaceId: "one", because: "it is away", process: "createCustomers" });
    expect(process.givingUp).to.equal("never");
    state.failure = new Error("a bug");
    expect(await Promise.resolve(tell(process, event)).catch((error) => error.message)).to.equal("a bug");
  });

  it("a deleted customer is created again, and the plan ends with the paid period", async () => {
    const { create, creating, look, eventOf, state, plan, wait, deps, asked } = await world();
    await create("one");
    state.subscriptions = [subscription()];
    await look();
    expect(await plan()).to.include({ plan: "pro", status: "active", interval: "monthly", renewsAt: days(31) });
    state.subscriptions = "customer_deleted";
    await look();
    expect((await loadPayer(deps, "one")).customerId).to.equal(null);
    expect(await plan()).to.include({ plan: "pro", status: "canceled", renewsAt: null });
    await tell(creating(), eventOf("CustomerLost", "billing-one"));
    expect((await loadPayer(deps, "one")).customerId).to.equal("cus_2");
    expect(await workspaceOfCustomer(deps, "cus_1")).to.equal("one");
    state.subscriptions = [];
    await look();
    expect(asked.at(-1)).to.equal("subscriptions of cus_2");
    wait(31);
    expect(await plan()).to.deep.include({ plan: "builder_pack", status: "canceled", period: null, interval: null });
    // A new subscription of the new customer counts for the workspace.
    state.subscriptions = [
      subscription({ id: "sub_2", customerId: "cus_2", periodStart: days(40), periodEnd: days(70) }),
    ];
    await look();
    expect(await plan()).to.include({ plan: "pro", status: "active" });
  });
});

describe("customers unknown to the payment processor", () => {
  it("a paying workspace with an unknown customer keeps its plan until a week after its period, and it is logged", async () => {
    const { create, following, eventOf, look, state, plan, wait, deps, lines } = await world();
    await create("one");
    state.subscriptions = [subscription()];
    await look();
    state.subscriptions = "customer_unknown";
    await tell(following(), eventOf("CustomerCreated", "billing-one"));
    expect(lines.at(-1)).to.include({ level: "error", message: "the payment processor refused, retrying" });
    expect(lines.at(-1)!.details.because).to.contain("STRIPE_SECRET_KEY");
    expect(await plan()).to.include({ plan: "pro", status: "active" });
    expect((await loadPayer(deps, "one")).customerId).to.equal("cus_1");
    // With the right key everything continues as before.
    state.subscriptions = [subscription()];
    await look();
    expect(await loadPayer(deps, "one")).to.include({ customerId: "cus_1", isSubscribed: true });
    state.subscriptions = "customer_unknown";
    wait(37);
    expect(await look().catch((error) => error)).to.be.instanceOf(ProcessorRefused);
    wait(39);
    await look();
    expect((await loadPayer(deps, "one")).customerId).to.equal(null);
    expect(await plan()).to.include({ plan: "builder_pack", status: "canceled" });
  });

  it("a workspace with an unknown customer that pays for nothing gets another one", async () => {
    const { create, look, state, deps } = await world();
    await create("one");
    state.subscriptions = "customer_unknown";
    await look();
    expect((await loadPayer(deps, "one")).customerId).to.equal(null);
  });
});

describe("events of the payment processor", () => {
  const event = (id: string, customerId: string | null = "cus_1") =>
    ({ id, type: "customer.subscription.updated", createdAt: days(1), customerId }) as const;

  it("a payment event is recorded once for a known customer and ignored for an unknown one", async () => {
    const { create, deps, following, typesOf, eventOf, log } = await world();
    expect(await recordProcessorEvent(deps, event("evt_0"), system())).to.deep.equal({ known: false });
    expect(isRelevant(following(), eventOf("ProcessorEventNoticed", "processorCustomer-cus_1"))).to.equal(false);
    await create("one");
    for (const id of ["evt_1", "evt_1", "evt_2", "evt_1", "evt_0"])
      expect(await recordProcessorEvent(deps, event(id), system())).to.deep.equal({ known: true });
    const noticed = typesOf("processorCustomer-cus_1").filter((type) => type === "ProcessorEventNoticed");
    expect(noticed).to.have.length(3);
    const last = eventOf("ProcessorEventNoticed", "processorCustomer-cus_1");
    expect([isRelevant(following(), last), following().keyOf(last)]).to.deep.equal([true, "one"]);
    expect(last.metadata.workspaceId).to.equal("one");
    const before = log.all.length;
    expect(await recordProcessorEvent(deps, event("evt_9", null), system())).to.deep.equal({ known: false });
    expect(log.all.length).to.equal(before);
  });

  it("a subscription of another workspace's customer does not change a plan", async () => {
    const { create, deps, look, state, plan } = await world();
    await create("one");
    await create("two");
    state.subscriptions = [subscription({ customerId: "cus_2", plan: "agency" })];
    await recordProcessorEvent(deps, event("evt_1"), system());
    await look("one");
    expect(await plan("one")).to.include({ plan: "builder_pack", status: "active" });
    await look("two");
    expect([(await plan("one")).plan, (await plan("two")).plan]).to.deep.equal(["builder_pack", "agency"]);
  });

  it("subscriptions are read again on request and when one should have ended", async () => {
    const { create, deps, following, eventOf, state } = await world();
    await requestSubscriptionRead(deps, { workspaceId: "one", because: "no customer yet" }, system());
    await create("one");
    await requestSubscriptionRead(deps, { workspaceId: "one", because: "a checkout was completed" }, system());
    state.subscriptions = [subscription({ cancelAt: days(0.5) })];
    const timers: Timer[] = [];
    await tell(following(), eventOf("SubscriptionsAsked", "billing-one"), { timers });
    expect(timers.map(({ key, dueAt }) => [key, dueAt.getTime()])).to.deep.equal([["one", began + dayMs / 2 + 60_000]]);
  });

  it("an answer that arrives after a newer one was read is ignored", async () => {
    const { create, look, state, plan, depsOn, log, payments } = await world();
    await create("one");
    let letGo: (() => void) | undefined;
    const slow = {
      ...payments,
      async subscriptionsOf(customerId: string) {
        const answer = await payments.subscriptionsOf(customerId);
        if (letGo === undefined)
          await new Promise<void>((resolve) => {
            letGo = resolve;
          });
        return answer;
      },
    };
    state.subscriptions = [subscription({ plan: "agency" })];
    const late = follow(depsOn(log), { workspaceId: "one", payments: slow }, system("one"));
    while (letGo === undefined) await Promise.resolve();
    state.subscriptions = [subscription({ plan: "pro" })];
    await look();
    letGo();
    await late;
    expect((await plan()).plan).to.equal("pro");
  });

  it("an instance delayed between reading and writing a plan does not overwrite a newer one", async () => {
    const { create, look, state, plan, depsOn, log } = await world();
    await create("one");
    const held = depsOn(log);
    const { handle } = held.workspaces;
    let letGo: (() => void) | undefined;
    held.workspaces.handle = async (...args) => {
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
      return handle(...args);
    };
    state.subscriptions = [subscription({ plan: "agency" })];
    const late = look("one", held).catch((error) => error);
    while (letGo === undefined) await new Promise((resolve) => setImmediate(resolve));
    state.subscriptions = [subscription({ plan: "pro" })];
    await look();
    letGo();
    expect(await late).to.be.instanceOf(StreamMoved);
    expect((await plan()).plan).to.equal("pro");
  });
});

describe("a second subscription", () => {
  const both = [
    subscription({ id: "sub_2", plan: "agency", createdAt: days(1), trialEnd: days(31), status: "trialing" }),
    subscription(),
  ];

  it("a second subscription is recorded first, ended and refunded once, and logged once", async () => {
    const { create, look, state, asked, typesOf, lines, plan, payments } = await world();
    await create("one");
    state.subscriptions = both;
    const { cancelAndRefund } = payments;
    payments.cancelAndRefund = async (id) => {
      expect(typesOf("billing-one").at(-1)).to.equal("SecondSubscriptionFound");
      payments.cancelAndRefund = cancelAndRefund;
      asked.push(`refused ${id}`);
      throw new ProcessorUnavailable("it is away");
    };
    expect(await look().catch((error) => error)).to.be.instanceOf(ProcessorUnavailable);
    await look();
    await look();
    expect(asked.filter((call) => call.endsWith("sub_2"))).to.deep.equal(["refused sub_2", "end sub_2"]);
    expect(typesOf("billing-one").slice(1)).to.deep.equal([
      ...["SubscriptionsRead", "SecondSubscriptionFound", "SecondSubscriptionEnded"],
    ]);
    const told = lines.filter(({ message }) => message.includes("second subscription"));
    expect(told.map(({ level, details }) => [level, details])).to.deep.equal([
      ["error", { workspaceId: "one", subscriptionId: "sub_2", kept: "sub_1" }],
    ]);
    expect((await plan()).plan).to.equal("pro");
  });

  it("a second subscription has no effect after the first one ends", async () => {
    const { create, look, state, plan, wait, deps } = await world();
    await create("one");
    state.subscriptions = both;
    await look();
    expect(await loadPayer(deps, "one")).to.include({ isSubscribed: true, trialUsed: true });
    state.subscriptions = [
      { ...both[0]!, status: "canceled", periodEnd: days(365) },
      { ...both[1]!, status: "canceled" },
    ];
    await look();
    expect(await loadPayer(deps, "one")).to.include({ isSubscribed: false, trialUsed: true });
    wait(31);
    expect(await plan()).to.include({ plan: "builder_pack", status: "canceled" });
    await look();
    expect(await plan()).to.include({ plan: "builder_pack", status: "canceled" });
  });
});

describe("a smaller plan", () => {
  it("identities above the plan's limit stop working, newest first, and work again after an upgrade [d10 canceled]", async () => {
    const { create, look, state, plan, wait, deps } = await world();
    await create("one");
    const limitUnder = async (different: Partial<ProcessorSubscription>) => {
      state.subscriptions = [subscription(different)];
      await look();
      return (await plan()).limits.identities;
    };
    expect(await limitUnder({})).to.equal(10);
    const ids = ["oldest", "middle", "newest"];
    const isAlive = async () => "alive" as const;
    for (const [at, holderId] of ids.entries()) {
      wait(at);
      const slot = { workspaceId: "one", kind: "identities", holderId, cap: 10, stateOf: isAlive } as const;
      await takeSlot(deps, slot, system("one"));
    }
    const working = async () => {
      const found = [];
      for (const holderId of ids) {
        const slot = { workspaceId: "one", kind: "identities", holderId } as const;
        if (await isWithinPlan(deps, slot, isAlive)) found.push(holderId);
      }
      return found;
    };
    expect(await working()).to.deep.equal(ids);
    for (const status of ["past_due", "unpaid", "paused"]) {
      expect(await limitUnder({ status }), status).to.equal(10);
      expect((await plan()).status).to.equal("past_due");
    }
    expect(await limitUnder({ status: "canceled" })).to.equal(10);
    expect(await working()).to.deep.equal(ids);
    wait(31);
    expect(await working()).to.deep.equal(["oldest"]);
    const back = { id: "sub_2", createdAt: days(40), periodStart: days(40), periodEnd: days(70) };
    expect(await limitUnder(back)).to.equal(10);
    expect(await working()).to.deep.equal(ids);
  });

  it("a subscription with an unknown price leaves the plan unchanged and is logged", async () => {
    const { create, look, state, plan, lines } = await world();
    await create("one");
    state.subscriptions = [subscription({ plan: "agency" })];
    await look();
    state.subscriptions = [subscription({ plan: null, interval: null, priceId: "price_9", periodEnd: days(60) })];
    await look();
    await look();
    expect(await plan()).to.include({ plan: "agency", status: "active", renewsAt: days(60) });
    expect(lines.map(({ level, message, details }) => [level, message, details.priceId])).to.deep.equal([
      ["error", "a subscription has a price that no setting names: the workspace's plan is unchanged", "price_9"],
    ]);
  });
});

describe("workspaces older than the payment processor", () => {
  const work = useWorkTable();

  it("workspaces made before a payment processor was configured get customers and then follow their subscriptions", async () => {
    const { store } = work;
    const deps = {
      ...createStreamServices({ store, clock: systemClock, ids: systemIds }),
      ...{ store, clock: systemClock, settings: {} },
    } as unknown as Dependencies;
    const ids = [systemIds.uuid(), systemIds.uuid()];
    for (const id of ids) {
      const workspace = workspaceCreated({ plan: "builder_pack" });
      await deps.workspaces.handle(id, { type: "CreateWorkspace", workspace }, system(id));
    }
    const other = work.run([
      rule({ name: "other", categories: ["workspace"], on: { WorkspaceCreated: async () => {} } }),
    ]);
    await other.idle();
    await other.stop();

    const now = Date.now();
    const [periodStart, periodEnd] = [now - dayMs, now + dayMs].map((at) => new Date(at).toISOString()) as [
      string,
      string,
    ];
    let subscribed: string | null = null;
    const payments = {
      createCustomer: async ({ workspaceId }) => ({ customerId: `cus_${workspaceId.replaceAll("-", "")}` }),
      subscriptionsOf: async (customerId) =>
        customerId === subscribed ? [subscription({ customerId, periodStart, periodEnd, createdAt: periodStart })] : [],
    } as Partial<PaymentProcessor> as PaymentProcessor;
    const runner = work.run([createCustomers(deps, payments), followSubscriptions(deps, payments)]);
    await runner.idle();
    const customers = await Promise.all(ids.map(async (id) => (await loadPayer(deps, id)).customerId!));
    expect(new Set(customers).size).to.equal(2);

    subscribed = customers[1]!;
    const event = {
      id: "evt_1",
      type: "customer.subscription.created",
      createdAt: periodStart,
      customerId: subscribed,
    };
    await recordProcessorEvent(deps, event, system());
    await runner.idle();
    const plans = await Promise.all(ids.map(async (id) => (await currentPlan(deps, id)).plan));
    expect(plans).to.deep.equal(["builder_pack", "pro"]);
  });
});
