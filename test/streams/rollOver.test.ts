import { expect } from "chai";
import {
  calendarMonth,
  currentPeriod,
  currentPlanLimits,
  earlierPeriods,
  monthWithin,
  type Stretch,
  withStretch,
} from "#streams/quota/rollOver.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";

describe("periods", () => {
  const bounds = (createdAt: string, now: string) => {
    const period = calendarMonth(createdAt, new Date(now));
    return [period.start.toISOString(), period.end.toISOString()];
  };

  it("periods are months from the creation, at its time of day; a short month ends on its last day", () => {
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

  it("periods follow each other without a gap, each with its own number", () => {
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
    periodsFrom: null,
    countsOn: null,
  } as const;

  it("[3 plan_status] a canceled plan holds until the paid period ends, every other status keeps it [d10 canceled]", () => {
    const [before, after] = [new Date("2026-02-01T23:59:59.999Z"), new Date("2026-02-02T00:00:00.000Z")];
    expect([currentPlanLimits(paid, before), currentPlanLimits(paid, after)]).to.deep.equal(["pro", "builder_pack"]);
    expect(currentPeriod(paid, after)).to.equal(null);
    for (const planStatus of ["trialing", "active", "past_due"] as const) {
      expect(currentPlanLimits({ ...paid, planStatus }, after), planStatus).to.equal("pro");
    }
    expect(currentPlanLimits({ ...paid, currentPeriodEnd: null }, before)).to.equal("builder_pack");
  });

  it("periods are the payment processor's if it names them, each with separate counters", () => {
    const active = { ...paid, planStatus: "active" } as const;
    const first = currentPeriod(active, new Date("2026-01-15T00:00:00.000Z"))!;
    const next = { currentPeriodStart: "2026-02-02T00:00:00.000Z", currentPeriodEnd: "2026-03-02T00:00:00.000Z" };
    const second = currentPeriod({ ...active, ...next }, new Date("2026-02-15T00:00:00.000Z"))!;
    expect([first.start.toISOString(), first.end.toISOString()]).to.deep.equal([
      paid.currentPeriodStart,
      paid.currentPeriodEnd,
    ]);
    expect(second.name).not.to.equal(first.name);
  });

  /** The months of a stretch, walked through from its start: name, start and end of each. */
  function monthsOf(start: string, end: string, first: string | null = null): string[][] {
    const stretch = { start, end, first };
    const found: string[][] = [];
    for (let at = new Date(start); at < new Date(end); ) {
      const month = monthWithin(stretch, at);
      expect(month.start.getTime()).to.equal(at.getTime());
      expect(monthWithin(stretch, new Date(month.end.getTime() - 1)).name).to.equal(month.name);
      found.push([month.name, dayOf(month.start), dayOf(month.end)]);
      at = month.end;
    }
    return found;
  }
  const dayOf = (time: Date): string => time.toISOString().slice(0, 10);
  const midnight = (day: string): string => `${day}T00:00:00.000Z`;

  it("a paid year has months as its periods, each with separate counters [d10 periods]", () => {
    const year = monthsOf(midnight("2028-01-31"), midnight("2029-01-31"));
    expect(year.map(([, start]) => start)).to.deep.equal(
      ["2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30", "2028-05-31", "2028-06-30"].concat([
        "2028-07-31",
        "2028-08-31",
        "2028-09-30",
        "2028-10-31",
        "2028-11-30",
        "2028-12-31",
      ]),
    );
    expect(new Set(year.map(([name]) => name)).size).to.equal(12);
    // The first one has the name that whole periods had.
    expect(year[0]![0]).to.equal("from20280131T000000000Z");
    expect(year[1]![0]).to.equal("from20280131T000000000Zmonth1");
    expect(monthsOf(midnight("2028-02-29"), midnight("2029-02-28"))).to.have.length(12);
    expect(monthsOf(midnight("2029-02-28"), midnight("2030-02-28"))).to.have.length(12);
    expect(monthsOf(midnight("2031-02-28"), midnight("2032-02-29")).at(-1)!.slice(1)).to.deep.equal([
      "2032-01-28",
      "2032-02-29",
    ]);
  });

  it("a period paid by the month is one period, however long that month is", () => {
    // Anchored on the 31st, as the processor has it.
    const anchors = ["2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30", "2028-05-31"];
    for (const [at, day] of anchors.slice(0, -1).entries()) {
      const [start, end] = [midnight(day), midnight(anchors[at + 1]!)];
      expect(
        monthsOf(start, end).map((month) => month.slice(1)),
        day,
      ).to.deep.equal([[day, anchors[at + 1]]]);
    }
    // A trial of 30 days is shorter than a month in one place, longer in another.
    expect(monthsOf(midnight("2026-01-01"), midnight("2026-01-31"))).to.have.length(1);
    expect(monthsOf(midnight("2026-02-01"), midnight("2026-03-03"))).to.have.length(1);
  });

  it("the last period lasts until the processor names the next, and the first applies before it began", () => {
    const stretch = { start: midnight("2026-01-10"), end: midnight("2026-03-10"), first: null };
    const late = monthWithin(stretch, new Date("2026-07-01"));
    expect([dayOf(late.start), dayOf(late.end)]).to.deep.equal(["2026-02-10", "2026-03-10"]);
    expect(monthWithin(stretch, new Date("2026-01-01")).name).to.equal("from20260110T000000000Z");
  });

  it("periods count from the operator's start if the processor names none, and stay known afterwards", () => {
    const from = "2026-03-31T08:00:00.000Z";
    const set = { ...paid, planStatus: "active", currentPeriodStart: null, currentPeriodEnd: null } as const;
    const period = currentPeriod({ ...set, periodsFrom: from }, new Date("2026-05-02T00:00:00.000Z"))!;
    expect([period.start, period.end].map((time) => time.toISOString())).to.deep.equal([
      "2026-04-30T08:00:00.000Z",
      "2026-05-31T08:00:00.000Z",
    ]);
    const stretches: Stretch[] = [{ start: from, end: null, first: null }];
    const known = earlierPeriods({ everPaid: true, createdAt: from, stretches }, new Date("2026-05-02T00:00:00.000Z"));
    expect(known).to.include(period.name);
  });

  it("a lifetime's counters include every period once", () => {
    const created = midnight("2026-01-01");
    const year = { start: midnight("2026-02-10"), end: midnight("2027-02-10"), first: "month1" };
    const before = { start: midnight("2026-01-05"), end: null, first: null };
    const stretches = [before, year].reduce<readonly Stretch[]>(withStretch, []);
    const names = earlierPeriods({ everPaid: true, createdAt: created, stretches }, new Date(midnight("2026-06-01")));
    expect(new Set(names).size).to.equal(names.length);
    for (const day of ["2026-02-10", "2026-03-09", "2026-07-01", "2027-02-09"])
      expect(names).to.include(monthWithin(year, new Date(midnight(day))).name);
    for (const day of ["2026-01-05", "2026-02-09"])
      expect(names).to.include(monthWithin(before, new Date(midnight(day))).name);
  });

  it("[8 builder_pack] [8 pro] [8 agency] plans have the contract's caps", () => {
    const rows = Object.entries(planLimits).map(([plan, limits]) => [plan, ...Object.values(limits)]);
    expect(rows).to.deep.equal([
      ["builder_pack", 50, 50, 1, 0, 1],
      ["pro", 5_000, 10_000, 10, 25, 3],
      ["agency", 15_000, 30_000, 50, 100, 10],
    ]);
  });
});
