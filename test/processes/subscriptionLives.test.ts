import { expect } from "chai";
import { sized } from "#test/support/full.ts";
import { monthsOn } from "#test/support/stripe/calendar.ts";
import { type Life, lifeOf } from "#test/support/stripe/lives.ts";
import { caps, inOrder, type LifeMoment, liveThrough, shuffled } from "#test/support/stripe/liveThrough.ts";
import { createRandom } from "../../scripts/support/random.ts";

/** Returns a subscription's values that do not depend on when events arrived. */
const shownBy = ({ plan, status, interval, renewsAt, trialEndsAt, period }: LifeMoment["plan"]) => ({
  ...{ plan, status, interval, renewsAt, trialEndsAt },
  ends: period?.end.toISOString() ?? null,
});

/** Counts the months of a customer's plan from the payment processor's data alone. */
function monthCounter() {
  let [count, from, starts, ends] = [0, "", 0, 0];
  return {
    count: () => count,
    see({ truth: { sub, plan }, now }: Pick<LifeMoment, "truth" | "now">): void {
      if (sub === null || plan === "builder_pack") return;
      const [start, end] = [Date.parse(sub.periodStart), Date.parse(sub.periodEnd)];
      const endOf = (at: number): number => {
        for (let month = 1; ; month++) {
          const turn = monthsOn(new Date(start), month).getTime();
          if (monthsOn(new Date(start), month + 1).getTime() > end) return end;
          if (turn > at) return turn;
        }
      };
      if (sub.periodStart !== from) {
        // A period that begins within a month continues that month.
        if (!(starts < start && start < ends)) count++;
        [from, starts, ends] = [sub.periodStart, start, endOf(start)];
      }
      while (ends <= now.getTime() && ends < end) {
        count++;
        [starts, ends] = [ends, endOf(ends)];
      }
    },
  };
}

const describeLife = (seed: number, { begins, steps }: Life): string =>
  `seed ${seed}: ${JSON.stringify([begins, ...steps.map(({ at, action }) => [at / 86_400_000, action])])}`;

/** Expects that no month's counter exceeds the largest cap in force while it was used, and that no month has two. */
function requireCaps(
  { reserved }: Awaited<ReturnType<typeof liveThrough>>,
  { months, about }: { months: number; about: string },
) {
  const used = new Map<string, { count: number; cap: number }>();
  for (const { stream, cap } of reserved) {
    const before = used.get(stream) ?? { count: 0, cap: 0 };
    used.set(stream, { count: before.count + 1, cap: Math.max(before.cap, cap) });
  }
  for (const [stream, { count, cap }] of used) expect(count, `${about}: ${stream}`).to.be.at.most(cap);
  const paid = [...used.keys()].filter((stream) => !stream.endsWith("lifetime"));
  expect(paid.length, `${about}: ${paid}`).to.be.at.most(months);
}

describe("the life of a subscription", function () {
  this.timeout(1_200_000);
  const lives = sized(15, 2_000);

  it(`a subscription ends the same for late, repeated, reordered or lost events, within its caps (${lives} lives) [d10 periods]`, async () => {
    const ends = new Map<string, number>();
    for (let seed = 1; seed <= lives; seed++) {
      const random = createRandom(seed);
      const life = lifeOf(random);
      const about = describeLife(seed, life);
      const months = monthCounter();
      const first = await liveThrough(life, inOrder, (moment) => {
        const { plan, truth } = moment;
        months.see(moment);
        expect([plan.plan, plan.status], `${about} at ${moment.now.toISOString()}`).to.deep.equal([
          truth.plan,
          truth.status,
        ]);
      });
      requireCaps(first, { months: months.count(), about });
      expect(first.world.refunded, about).to.deep.equal(first.world.seconds());

      const second = await liveThrough(life, shuffled(random));
      expect(shownBy(second.plan), about).to.deep.equal(shownBy(first.plan));
      expect([second.plan.plan, second.plan.status], about).to.deep.equal([second.truth.plan, second.truth.status]);
      expect(second.world.refunded, about).to.deep.equal(second.world.seconds());
      // If a change of interval arrives a day late, the month that it prolonged may have ended meanwhile.
      const changes = life.steps.filter(({ action }) => action.does === "change interval").length;
      requireCaps(second, { months: months.count() + changes, about });
      const end = `${first.plan.plan} ${first.plan.status}`;
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    // The lives end in different ways.
    expect([...ends.keys()].length).to.be.at.least(Math.min(5, lives));
    expect(Object.keys(caps)).to.have.length(3);
  });
});
