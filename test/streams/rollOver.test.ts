import { expect } from "chai";
import { calendarMonth, periodNow, planNow } from "#streams/quota/rollOver.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";

describe("periods", () => {
  const bounds = (createdAt: string, now: string) => {
    const period = calendarMonth(createdAt, new Date(now));
    return [period.start.toISOString(), period.end.toISOString()];
  };

  it("are months from the creation, at its time of day; the last day stands in for one a month does not have", () => {
    const created = "2026-01-31T12:00:00.000Z";
    expect(bounds(created, "2026-01-31T12:00:00.000Z")).to.deep.equal([created, "2026-02-28T12:00:00.000Z"]);
    expect(bounds(created, "2026-02-28T11:59:59.999Z")).to.deep.equal([created, "2026-02-28T12:00:00.000Z"]);
    expect(bounds(created, "2026-02-28T12:00:00.000Z")).to.deep.equal([
      "2026-02-28T12:00:00.000Z",
      "2026-03-31T12:00:00.000Z",
    ]);
    expect(bounds(created, "2027-01-01T00:00:00.000Z")).to.deep.equal([
      "2026-12-31T12:00:00.000Z",
      "2027-01-31T12:00:00.000Z",
    ]);
  });

  it("follow each other without a gap, each under its own number", () => {
    const createdAt = "2024-02-29T23:30:00.000Z";
    let now = new Date(createdAt);
    for (let month = 0; month < 60; month++) {
      const { start, end, name } = calendarMonth(createdAt, now);
      expect(start.getTime()).to.equal(now.getTime());
      expect(name).to.equal(`month${month}`);
      expect(calendarMonth(createdAt, new Date(end.getTime() - 1)).name).to.equal(`month${month}`);
      now = end;
    }
  });

  const paid = {
    plan: "pro",
    planStatus: "canceled",
    createdAt: "2025-01-01T00:00:00.000Z",
    currentPeriodStart: "2026-01-02T00:00:00.000Z",
    currentPeriodEnd: "2026-02-02T00:00:00.000Z",
  } as const;

  it("[3 plan_status] a canceled plan holds until the paid period ends, every other status keeps it [d10 canceled]", () => {
    const [before, after] = [new Date("2026-02-01T23:59:59.999Z"), new Date("2026-02-02T00:00:00.000Z")];
    expect([planNow(paid, before), planNow(paid, after)]).to.deep.equal(["pro", "builder_pack"]);
    expect(periodNow(paid, after)).to.equal(null);
    for (const planStatus of ["trialing", "active", "past_due"] as const) {
      expect(planNow({ ...paid, planStatus }, after), planStatus).to.equal("pro");
    }
    expect(planNow({ ...paid, currentPeriodEnd: null }, before)).to.equal("builder_pack");
  });

  it("are the payment processor's where it names them, each with counters of its own", () => {
    const active = { ...paid, planStatus: "active" } as const;
    const first = periodNow(active, new Date("2026-01-15T00:00:00.000Z"))!;
    const next = { currentPeriodStart: "2026-02-02T00:00:00.000Z", currentPeriodEnd: "2026-03-02T00:00:00.000Z" };
    const second = periodNow({ ...active, ...next }, new Date("2026-02-15T00:00:00.000Z"))!;
    expect([first.start.toISOString(), first.end.toISOString()]).to.deep.equal([
      paid.currentPeriodStart,
      paid.currentPeriodEnd,
    ]);
    expect(second.name).not.to.equal(first.name);
  });

  it("[8 builder_pack] [8 pro] [8 agency] have the contract's caps", () => {
    const rows = Object.entries(planLimits).map(([plan, limits]) => [plan, ...Object.values(limits)]);
    expect(rows).to.deep.equal([
      ["builder_pack", 50, 50, 1, 0, 1],
      ["pro", 5_000, 10_000, 10, 25, 3],
      ["agency", 15_000, 30_000, 50, 100, 10],
    ]);
  });
});
