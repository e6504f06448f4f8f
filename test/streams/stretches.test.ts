import { expect } from "chai";
import { countersFor, currentPeriod, earlierPeriods, type Stretch, withStretch } from "#streams/quota/rollOver.ts";

const midnight = (day: string): string => `${day}T00:00:00.000Z`;
const stretch = (start: string, end: string | null, first: string | null = null): Stretch => ({
  start: midnight(start),
  end: end && midnight(end),
  first,
});
const january = stretch("2026-01-10", "2026-02-10");
const year = stretch("2026-02-10", "2027-02-10");

describe("the paid stretches of months", () => {
  it("stretches stay as they are if the last one is named again", () => {
    const stretches = [stretch("2025-12-10", "2026-01-10"), january, year];
    expect(withStretch(stretches, { ...year })).to.equal(stretches);
  });

  it("each start has one stretch, which never gets shorter and keeps its first counters", () => {
    const shorter = stretch("2026-02-10", "2026-08-10");
    const longer = stretch("2026-02-10", "2028-02-10");
    expect(withStretch([january, year], shorter)).to.deep.equal([january, year]);
    expect(withStretch([january, year], longer)).to.deep.equal([january, longer]);
    expect(withStretch([year, january], longer), "one that is not the last").to.deep.equal([longer, january]);
    const endless = stretch("2026-02-10", null);
    expect(withStretch([january, year], endless)).to.deep.equal([january, endless]);
    expect(withStretch([january, endless], year)).to.deep.equal([january, endless]);
    const counting = { ...year, first: "month1" };
    expect(withStretch([january, year], counting)).to.deep.equal([january, counting]);
    expect(withStretch([january, counting], { ...year, first: "month7" })).to.deep.equal([january, counting]);
  });

  it("a stretch without an end lasts a month into the next one at most", () => {
    const endless = stretch("2026-01-05", null);
    expect(withStretch([january, endless], year)).to.deep.equal([january, stretch("2026-01-05", "2026-03-10"), year]);
  });
});

describe("the periods in which something may have been counted", () => {
  const names = (stretches: Stretch[], everPaid = true) =>
    earlierPeriods({ everPaid, createdAt: midnight("2026-01-01"), stretches }, new Date(midnight("2026-03-02")));

  it("a workspace that never paid has no earlier periods", () => {
    expect(names([january], false)).to.deep.equal([]);
  });

  it("earlier periods are the months since the creation, those of each stretch, and the counters that a stretch went on with", () => {
    const months = ["month0", "month1", "month2"];
    expect(names([])).to.deep.equal(months);
    const quarter = stretch("2026-02-10", "2026-05-10");
    const own = ["", "month1", "month2"].map((month) => `from20260210T000000000Z${month}`);
    expect(names([quarter])).to.deep.equal([...months, ...own]);
    expect(names([{ ...quarter, first: "elsewhere" }])).to.deep.equal([...months, "elsewhere", ...own]);
  });
});

/** A workspace on the free plan, of which no period is named. */
const free = {
  plan: "builder_pack",
  planStatus: "active",
  createdAt: midnight("2026-01-01"),
  countsOn: null,
  currentPeriodStart: null,
  currentPeriodEnd: null,
  periodsFrom: null,
} as const;

describe("a workspace whose period is named in part", () => {
  const nameAt = (different: Partial<Record<"currentPeriodStart" | "currentPeriodEnd" | "periodsFrom", string>>) =>
    currentPeriod({ ...free, plan: "pro", ...different }, new Date(midnight("2026-03-15")))?.name;

  it("a workspace counts by the calendar unless both ends of its period are named, or the operator named a start", () => {
    expect(nameAt({})).to.equal("month2");
    expect(nameAt({ currentPeriodStart: midnight("2026-03-10") })).to.equal("month2");
    expect(nameAt({ currentPeriodEnd: midnight("2026-04-10") })).to.equal("month2");
    expect(nameAt({ periodsFrom: midnight("2026-03-10") })).to.equal("from20260310T000000000Z");
    const named = { currentPeriodStart: midnight("2026-03-12"), currentPeriodEnd: midnight("2026-04-12") };
    expect(nameAt({ ...named, periodsFrom: midnight("2026-03-10") })).to.equal("from20260312T000000000Z");
  });
});

describe("the counters that a period of the processor's goes on with", () => {
  const paid = { ...free, plan: "pro", currentPeriodStart: january.start, currentPeriodEnd: january.end } as const;
  const on = (workspace: typeof free | typeof paid, day: string, stretches: Stretch[] = []) =>
    countersFor({ ...workspace, stretches }, midnight(day));
  const januarys = "from20260110T000000000Z";

  it("a period that begins within a month goes on with that month's counters, and has its own otherwise", () => {
    expect(on(paid, "2026-01-11")).to.equal(januarys);
    expect(on(paid, "2026-02-09")).to.equal(januarys);
    expect(on(paid, "2026-01-10")).to.equal(null);
    expect(on(paid, "2026-02-10")).to.equal(null);
    expect(on(paid, "2026-01-09")).to.equal(null);
  });

  it("a period goes on with the counters of a month that ended early, if it begins within that", () => {
    expect(on(free, "2026-01-20", [january])).to.equal(januarys);
    for (const day of ["2026-01-09", "2026-01-10", "2026-02-10", "2026-03-01"])
      expect(on(free, day, [january]), day).to.equal(null);
    expect(on(free, "2026-01-20", [stretch("2026-01-05", null)]), "one without an end").to.equal(null);
    for (const other of [year, stretch("2026-01-05", "2026-01-15"), stretch("2026-01-25", "2026-02-01")])
      expect(on(free, "2026-01-20", [january, other]), `beside one from ${other.start}`).to.equal(januarys);
  });

  it("a start that is known keeps its counters", () => {
    expect(on(paid, "2026-01-20", [stretch("2026-01-20", "2026-02-20", "month0")])).to.equal("month0");
    expect(on(paid, "2026-01-20", [stretch("2026-01-20", "2026-02-20")])).to.equal(null);
  });
});
