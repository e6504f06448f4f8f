import { expect } from "chai";
import { type Billing, billingDecider } from "#streams/billing/decider.ts";
import type { BillingEvent, Subscription } from "#streams/billing/events.ts";
import { nextSubscriptionCheck } from "#streams/billing/nextCheck.ts";
import { planFromSubscriptions } from "#streams/billing/planFrom.ts";
import { fold } from "#streams/decider.ts";
import { processorCustomerDecider } from "#streams/processorCustomer/decider.ts";
import type { ProcessorCustomerEvent } from "#streams/processorCustomer/events.ts";
import { type Workspace, workspaceDecider } from "#streams/workspace/decider.ts";
import type { WorkspaceEvent } from "#streams/workspace/events.ts";
import { workspaceCreated } from "#test/support/examples/index.ts";
import { given } from "#test/support/given.ts";

const midnight = (day: string): string => `${day}T00:00:00.000Z`;

/** A subscription to pro by the month, in its first one. */
const subscription = (different: Partial<Subscription> = {}): Subscription => ({
  id: "sub_1",
  status: "active",
  priceId: "price_pro_monthly",
  plan: "pro",
  interval: "monthly",
  periodStart: midnight("2026-01-10"),
  periodEnd: midnight("2026-02-10"),
  trialEnd: null,
  cancelAt: null,
  endedUnpaid: false,
  createdAt: midnight("2026-01-10"),
  ...different,
});

const createdWith = (plan: "builder_pack" | "pro" = "builder_pack"): WorkspaceEvent => ({
  type: "WorkspaceCreated",
  data: workspaceCreated({ plan, betaOverride: false, createdAt: midnight("2026-01-01") }),
});
/** A plan that the operator set at this time. */
const planSet = (periodsFrom: string): Extract<WorkspaceEvent, { type: "PlanSet" }>["data"] => ({
  ...{ plan: "agency", planStatus: "active", betaOverride: false, periodsFrom, interval: null, renewsAt: null },
  ...{ trialEndsAt: null, currentPeriodStart: null, currentPeriodEnd: null, countsOn: null },
});
const workspaceOf = (...events: WorkspaceEvent[]): Workspace => fold(workspaceDecider, [createdWith(), ...events]);

describe("the payment processor's customer", () => {
  const linked: ProcessorCustomerEvent = { type: "CustomerLinked", data: { workspaceId: "w" } };
  const happened = { eventType: "invoice.paid", happenedAt: midnight("2026-01-01") };
  const notice = (eventId: string) => ({ type: "NoticeEvent", eventId, ...happened }) as const;
  const noticed = (eventId: string, workspaceId: string | null): ProcessorCustomerEvent => ({
    type: "ProcessorEventNoticed",
    data: { eventId, ...happened, workspaceId },
  });

  it("a payment processor's customer belongs to one workspace for ever", () => {
    given(processorCustomerDecider).when({ type: "LinkCustomer", workspaceId: "w" }).then(linked);
    given(processorCustomerDecider, linked).when({ type: "LinkCustomer", workspaceId: "w" }).then();
    given(processorCustomerDecider, linked).when({ type: "LinkCustomer", workspaceId: "v" }).thenRejected("not_found");
  });

  it("each event of the payment processor is noticed once, also for an unknown customer", () => {
    given(processorCustomerDecider, linked).when(notice("evt_1")).then(noticed("evt_1", "w"));
    given(processorCustomerDecider, linked, noticed("evt_1", "w")).when(notice("evt_1")).then();
    given(processorCustomerDecider, linked, noticed("evt_1", "w")).when(notice("evt_2")).then(noticed("evt_2", "w"));
    given(processorCustomerDecider).when(notice("evt_1")).then(noticed("evt_1", null));
  });

  it("a payment processor's customer remembers its last 200 events", () => {
    const many = Array.from({ length: 1_000 }, (_, n) => noticed(`evt_${n}`, "w"));
    expect(fold(processorCustomerDecider, many).noticed).to.have.length(200);
    given(processorCustomerDecider, linked, ...many)
      .when(notice("evt_999"))
      .then();
  });
});

describe("billing", () => {
  const created = (customerId: string): BillingEvent => ({ type: "CustomerCreated", data: { customerId } });
  const lost = (customerId: string): BillingEvent => ({ type: "CustomerLost", data: { customerId } });
  const keep = (customerId: string) => ({ type: "KeepCustomer", customerId }) as const;
  const read = (subscriptions: Subscription[], followed: string | null = subscriptions[0]?.id ?? null) => ({
    customerId: "cus_1",
    followed,
    trialUsed: false,
    subscriptions,
  });
  const wasRead = (...args: Parameters<typeof read>): BillingEvent => ({
    type: "SubscriptionsRead",
    data: read(...args),
  });
  const record = (basedOn: number, data: ReturnType<typeof read>, seconds: string[] = []) =>
    ({ type: "RecordSubscriptions", basedOn, read: data, seconds }) as const;
  const found: BillingEvent = { type: "SecondSubscriptionFound", data: { subscriptionId: "sub_2", kept: "sub_1" } };

  it("a workspace keeps one payment customer, and gets another only after that one was deleted", () => {
    given(billingDecider).when(keep("cus_1")).then(created("cus_1"));
    given(billingDecider, created("cus_1")).when(keep("cus_2")).then();
    given(billingDecider, created("cus_1")).when({ type: "LoseCustomer", customerId: "cus_1" }).then(lost("cus_1"));
    given(billingDecider, created("cus_1")).when({ type: "LoseCustomer", customerId: "cus_0" }).then();
    given(billingDecider, created("cus_1"), lost("cus_1")).when(keep("cus_1")).then();
    given(billingDecider, created("cus_1"), lost("cus_1")).when(keep("cus_2")).then(created("cus_2"));
  });

  it("only a change of the subscriptions is recorded, whatever the order of their fields", () => {
    const one = subscription();
    const turned = Object.fromEntries(Object.entries(one).reverse()) as Subscription;
    given(billingDecider, created("cus_1"))
      .when(record(0, read([one])))
      .then(wasRead([one]));
    given(billingDecider, created("cus_1"), wasRead([turned]))
      .when(record(1, read([one])))
      .then();
    given(billingDecider, created("cus_1"), wasRead([one]))
      .when(record(1, read([subscription({ status: "past_due" })])))
      .thenTypes("SubscriptionsRead");
  });

  it("subscriptions that were read before newer ones, or of another customer, are not recorded", () => {
    given(billingDecider, created("cus_1"), wasRead([subscription()]))
      .when(record(0, read([])))
      .then();
    given(billingDecider, created("cus_1"), lost("cus_1"), created("cus_2"))
      .when(record(0, read([subscription()])))
      .then();
  });

  it("a second subscription is found once and ended once", () => {
    const two = read([subscription(), subscription({ id: "sub_2" })]);
    const recorded: BillingEvent = { type: "SubscriptionsRead", data: two };
    const ended: BillingEvent = { type: "SecondSubscriptionEnded", data: { subscriptionId: "sub_2" } };
    const end = { type: "EndSecondSubscription", subscriptionId: "sub_2" } as const;
    given(billingDecider, created("cus_1"))
      .when(record(0, two, ["sub_2"]))
      .then(recorded, found);
    given(billingDecider, created("cus_1"), recorded, found)
      .when(record(1, two, ["sub_2"]))
      .then();
    given(billingDecider, found).when(end).then(ended);
    given(billingDecider, found, ended).when(end).then();
    given(billingDecider).when(end).then();
  });

  it("a used trial is remembered for ever", () => {
    const trial = { ...read([]), trialUsed: true };
    const state = fold(billingDecider, [created("cus_1"), { type: "SubscriptionsRead", data: trial }, lost("cus_1")]);
    expect(state.trialUsed).to.equal(true);
    given(billingDecider, created("cus_1"), { type: "SubscriptionsRead", data: trial })
      .when(record(1, read([])))
      .then();
  });

  it("a workspace knows the checkout that was opened last: of two at once, one replaces the other", () => {
    const checkout = (sessionId: string) =>
      ({ sessionId, plan: "pro", interval: "monthly", expiresAt: midnight("2026-01-02") }) as const;
    const open = (sessionId: string, replaces: string | null) =>
      ({ type: "OpenCheckout", checkout: checkout(sessionId), replaces }) as const;
    const opened = (sessionId: string): BillingEvent => ({ type: "CheckoutOpened", data: checkout(sessionId) });
    given(billingDecider).when(open("cs_1", null)).then(opened("cs_1"));
    given(billingDecider, opened("cs_1")).when(open("cs_2", null)).then();
    given(billingDecider, opened("cs_1")).when(open("cs_2", "cs_1")).then(opened("cs_2"));
  });
});

describe("the plan that follows from subscriptions", () => {
  const nothing: Pick<Billing, "followed" | "seconds"> = { followed: null, seconds: {} };
  const now = new Date(midnight("2026-01-20"));
  const from = (
    subscriptions: Subscription[],
    { present = workspaceOf(), billing = {}, at = now }: { present?: Workspace; billing?: object; at?: Date } = {},
  ) => planFromSubscriptions(subscriptions, { present, billing: { ...nothing, ...billing }, now: at });
  const statusFrom = (status: string) => from([subscription({ status })]).subscribed?.planStatus ?? null;
  const fallen = { plan: "builder_pack", planStatus: "canceled", currentPeriodStart: null, currentPeriodEnd: null };

  it("a plan's status follows the processor's: unpaid and paused are past due, incomplete is none [d10 statuses]", () => {
    const statuses = ["trialing", "active", "past_due", "unpaid", "paused", "incomplete", "something new"];
    expect(statuses.map(statusFrom)).to.deep.equal([
      ...["trialing", "active", "past_due", "past_due", "past_due", null, null],
    ]);
  });

  it("a plan has the period of its subscription", () => {
    expect(from([subscription()]).subscribed).to.deep.equal({
      ...{ plan: "pro", planStatus: "active", trialEndsAt: null, interval: "monthly" },
      ...{ currentPeriodStart: midnight("2026-01-10"), currentPeriodEnd: midnight("2026-02-10") },
      renewsAt: midnight("2026-02-10"),
    });
    const trial = subscription({ status: "trialing", trialEnd: midnight("2026-02-10") });
    expect(from([trial]).subscribed!.trialEndsAt).to.equal(midnight("2026-02-10"));
    expect(from([{ ...trial, status: "active" }]).subscribed!.trialEndsAt).to.equal(null);
    const renewsAt = (cancelAt: string) => from([subscription({ cancelAt })]).subscribed!.renewsAt;
    expect([renewsAt(midnight("2026-02-10")), renewsAt(midnight("2026-06-01"))]).to.deep.equal([
      null,
      midnight("2026-02-10"),
    ]);
  });

  it("a canceled plan keeps its limits until the paid period ends, and is the free plan afterwards [d10 canceled]", () => {
    const canceled = subscription({ status: "canceled" });
    const before = from([canceled]).subscribed!;
    expect(before).to.include({ plan: "pro", planStatus: "canceled", currentPeriodEnd: canceled.periodEnd });
    expect([before.renewsAt, before.trialEndsAt]).to.deep.equal([null, null]);
    const after = from([canceled], { at: new Date(canceled.periodEnd) }).subscribed!;
    expect(after).to.include({ ...fallen, interval: null, renewsAt: null });
  });

  it("a plan whose last period was never paid ends at once, and earlier paid time stays [d10 canceled]", () => {
    const given = { status: "canceled", endedUnpaid: true } as const;
    expect(from([subscription(given)]).subscribed).to.include(fallen);
    const year = subscription({ id: "sub_0", status: "canceled", plan: "agency", periodEnd: midnight("2027-01-10") });
    expect(from([subscription(given), year]).subscribed).to.include({ plan: "agency", planStatus: "canceled" });
  });

  it("a subscription that expired before its first payment is canceled at once, and ends no other plan [d10 statuses]", () => {
    const expired = subscription({ status: "incomplete_expired" });
    expect(from([expired]).subscribed).to.include(fallen);
    const operators = fold(workspaceDecider, [createdWith("pro")]);
    expect(from([expired], { present: operators }).subscribed).to.equal(null);
    for (const status of ["incomplete", "incomplete_expired"]) {
      const beside = subscription({ id: "sub_2", status, plan: "agency", createdAt: midnight("2026-01-12") });
      const { subscribed, followed, seconds } = from([beside, subscription()]);
      expect([subscribed!.plan, followed, seconds.length], status).to.deep.equal(["pro", "sub_1", 0]);
      expect(from([beside, subscription({ status: "canceled" })]).subscribed!.plan, status).to.equal("pro");
    }
  });

  it("the price alone decides the plan; with an unknown price the plan stays and the puzzle is reported", () => {
    const unknown = subscription({ plan: null, interval: null, periodEnd: midnight("2026-03-10") });
    const pro = fold(workspaceDecider, [createdWith("pro")]);
    const found = from([unknown], { present: pro });
    expect(found.puzzle).to.equal("price");
    expect(found.subscribed).to.include({ plan: "pro", currentPeriodEnd: midnight("2026-03-10") });
    expect(from([unknown])).to.include({ puzzle: "price", subscribed: null });
    const strange = from([subscription({ status: "something new" })], { billing: { followed: "sub_1" } });
    expect(strange).to.deep.include({ puzzle: "status", subscribed: null, followed: "sub_1" });
  });

  it("a plan follows the first active subscription; another active one is a second subscription", () => {
    const [first, second] = [
      subscription(),
      subscription({ id: "sub_0", plan: "agency", createdAt: midnight("2026-01-11") }),
    ];
    for (const both of [
      [first, second],
      [second, first],
    ]) {
      const { followed, seconds, subscribed } = from(both);
      expect([followed, seconds, subscribed!.plan]).to.deep.equal(["sub_1", ["sub_0"], "pro"]);
    }
    // The checkout that was completed first counts, even if it was opened later.
    expect(from([first, second], { billing: { followed: "sub_0" } })).to.deep.include({
      followed: "sub_0",
      seconds: ["sub_1"],
    });
    for (const status of ["past_due", "unpaid", "paused", "trialing"])
      expect(from([{ ...first, status }, second]).seconds, status).to.deep.equal(["sub_0"]);
    // After the first subscription has ended, the second is the customer's only one.
    expect(from([{ ...first, status: "canceled" }, second], { billing: { followed: "sub_1" } })).to.deep.include({
      followed: "sub_0",
      seconds: [],
    });
  });

  it("a second subscription that was refunded never decides the plan", () => {
    const refunded = subscription({
      id: "sub_2",
      status: "canceled",
      periodEnd: midnight("2026-12-31"),
      plan: "agency",
    });
    const billing = { followed: "sub_1", seconds: { sub_2: "ended" } };
    const first = subscription({ status: "canceled" });
    const after = from([first, refunded], { billing, at: new Date(midnight("2026-03-01")) });
    expect([after.followed, after.subscribed!.plan]).to.deep.equal(["sub_1", "builder_pack"]);
    const pending = from([{ ...refunded, status: "active" }], { billing: { seconds: { sub_2: "to be ended" } } });
    expect(pending).to.deep.include({ followed: null, subscribed: null });
  });

  it("the operator's plan is valid until a subscription is active", () => {
    const set: WorkspaceEvent = {
      type: "PlanSet",
      data: planSet(midnight("2026-01-15")),
    };
    const present = workspaceOf(set);
    const ended = subscription({ status: "canceled" });
    expect(from([ended], { present, billing: { followed: "sub_1" } }).subscribed).to.equal(null);
    expect(from([], { present, billing: { followed: "sub_1" } }).subscribed).to.equal(null);
    expect(from([subscription()], { present }).subscribed!.plan).to.equal("pro");
    const later = { ...ended, createdAt: midnight("2026-01-16") };
    expect(from([later], { present }).subscribed!.planStatus).to.equal("canceled");
    expect(from([]).subscribed).to.equal(null);
  });

  it("the plan of a deleted customer is canceled, and kept for the time that was paid for", () => {
    const [event] = workspaceDecider.decide(
      { type: "FollowSubscription", subscribed: from([subscription()]).subscribed! },
      workspaceOf(),
    );
    const present = workspaceOf(event!);
    const gone = { present, billing: { followed: "sub_1" } };
    expect(from([], gone).subscribed).to.include({ plan: "pro", planStatus: "canceled", renewsAt: null });
    expect(from([], { ...gone, at: new Date(midnight("2026-02-10")) }).subscribed).to.include(fallen);
  });
});

describe("a workspace that follows a subscription", () => {
  const subscribed = (different: Partial<Subscription>, at = midnight("2026-01-20")) => {
    const found = planFromSubscriptions([subscription(different)], {
      present: workspaceOf(),
      billing: { followed: null, seconds: {} },
      now: new Date(at),
    });
    return { type: "FollowSubscription", subscribed: found.subscribed! } as const;
  };
  const followedBy = (...steps: Partial<Subscription>[]): Workspace =>
    steps.reduce(
      (workspace, step) => fold(workspaceDecider, workspaceDecider.decide(subscribed(step), workspace), workspace),
      workspaceOf(),
    );
  const january = { periodStart: midnight("2026-01-10"), periodEnd: midnight("2026-02-10") };
  const february = { periodStart: midnight("2026-02-10"), periodEnd: midnight("2026-03-10") };
  const year = {
    ...({ interval: "annual", priceId: "price_pro_annual" } as const),
    ...{ periodStart: midnight("2026-01-25"), periodEnd: midnight("2027-01-25") },
  };

  it("the plan of a followed subscription is set once", () => {
    given(workspaceDecider, createdWith()).when(subscribed({})).thenTypes("PlanSet");
    const [set] = workspaceDecider.decide(subscribed({}), workspaceOf());
    given(workspaceDecider, createdWith(), set!).when(subscribed({})).then();
    given(workspaceDecider).when(subscribed({})).thenRejected("not_found");
  });

  it("the month's counters stay with another plan, another interval or an early end of the trial [d10 periods]", () => {
    expect(followedBy(january).countsOn).to.equal(null);
    expect(followedBy(january, { ...january, plan: "agency" }).countsOn).to.equal(null);
    expect(followedBy(january, year).countsOn).to.equal("from20260110T000000000Z");
    // The same holds for any number of changes within a month.
    const again = { ...february, periodStart: midnight("2026-02-05"), periodEnd: midnight("2026-03-05") };
    expect(followedBy(january, year, again).countsOn).to.equal("from20260110T000000000Z");
    expect(followedBy({ ...january, status: "trialing" }, year).countsOn).to.equal("from20260110T000000000Z");
    // In a later month of the year: that month's.
    const inMay = { ...january, periodStart: midnight("2026-05-01"), periodEnd: midnight("2026-06-01") };
    expect(followedBy(year, inMay).countsOn).to.equal("from20260125T000000000Zmonth3");
  });

  it("counters begin again with a new period, and with a plan after the free one", () => {
    expect(followedBy(january, february).countsOn).to.equal(null);
    const later = { ...february, periodStart: midnight("2026-04-02"), periodEnd: midnight("2026-05-02") };
    expect(followedBy(january, later).countsOn).to.equal(null);
    expect(followedBy(february).countsOn).to.equal(null);
  });

  it("a month that was used and never paid for keeps its counters if the plan returns within it", () => {
    const pastDue = followedBy(january, { ...february, status: "past_due" });
    const unpaid = subscribed({ ...february, status: "canceled", endedUnpaid: true }, midnight("2026-02-20"));
    const [ended] = workspaceDecider.decide(unpaid, pastDue);
    const free = fold(workspaceDecider, [ended!], pastDue);
    expect(free).to.include({ plan: "builder_pack", currentPeriodStart: null });
    const back = (day: string) =>
      fold(workspaceDecider, workspaceDecider.decide(subscribed({ periodStart: midnight(day) }), free), free);
    expect(back("2026-02-27")).to.include({ plan: "pro", countsOn: "from20260210T000000000Z" });
    expect(back("2026-03-10").countsOn).to.equal(null);
  });

  it("a plan that returns to an earlier period has that period's counters again", () => {
    const set: WorkspaceEvent = {
      type: "PlanSet",
      data: planSet(midnight("2026-01-28")),
    };
    const workspace = fold(workspaceDecider, [set], followedBy(january, year));
    const back = fold(workspaceDecider, workspaceDecider.decide(subscribed(year), workspace), workspace);
    expect(back).to.include({ countsOn: "from20260110T000000000Z", periodsFrom: null, plan: "pro" });
  });
});

describe("the next check of subscriptions", () => {
  const look = (subscriptions: Subscription[], at: string, expiresAt: string | null = null) =>
    nextSubscriptionCheck(
      { subscriptions, checkout: expiresAt === null ? null : { expiresAt } },
      new Date(at),
    )?.toISOString() ?? null;

  it("subscriptions are checked at the end of a period, trial, paid time or checkout, and once a day while active", () => {
    expect(look([subscription()], midnight("2026-01-20"))).to.equal(midnight("2026-01-21"));
    expect(look([subscription()], "2026-02-09T12:00:00.000Z")).to.equal("2026-02-10T00:01:00.000Z");
    const trialing = subscription({ trialEnd: midnight("2026-02-01") });
    expect(look([trialing], "2026-01-31T23:00:00.000Z")).to.equal("2026-02-01T00:01:00.000Z");
    for (const status of ["trialing", "active", "past_due", "unpaid", "paused", "incomplete", "something new"])
      expect(look([subscription({ status })], midnight("2026-01-20")), status).to.equal(midnight("2026-01-21"));
    expect(look([subscription({ status: "canceled" })], midnight("2026-01-20"))).to.equal("2026-02-10T00:01:00.000Z");
  });

  it("subscriptions are checked again soon if a period is overdue, and never if nothing can change by itself", () => {
    expect(look([subscription()], "2026-02-10T00:02:00.000Z")).to.equal("2026-02-10T00:12:00.000Z");
    expect(look([subscription()], "2026-02-10T05:01:00.000Z")).to.equal("2026-02-10T10:01:00.000Z");
    expect(look([subscription()], midnight("2026-05-01"))).to.equal(midnight("2026-05-02"));
    expect(look([subscription({ status: "canceled" })], midnight("2026-02-11"))).to.equal(null);
    expect(look([subscription({ status: "incomplete_expired" })], midnight("2026-01-11"))).to.equal(null);
    expect(look([], midnight("2026-01-11"))).to.equal(null);
    expect(look([], midnight("2026-01-12"), midnight("2026-01-12"))).to.equal("2026-01-12T00:01:00.000Z");
    expect(look([], midnight("2026-01-13"), midnight("2026-01-12"))).to.equal(null);
  });
});
