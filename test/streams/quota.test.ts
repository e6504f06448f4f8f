import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { quotaDecider } from "#streams/quota/decider.ts";
import { type QuotaEvent, quotaStream } from "#streams/quota/events.ts";
import { given } from "#test/support/given.ts";

describe("a quota", () => {
  const reserve = (reservationId: string, cap: number | null = 2) =>
    ({ type: "ReserveQuota", reservationId, cap }) as const;
  const release = (reservationId: string) => ({ type: "ReleaseQuota", reservationId }) as const;
  const reserved = (reservationId: string): QuotaEvent => ({ type: "QuotaReserved", data: { reservationId } });
  const released = (reservationId: string): QuotaEvent => ({ type: "QuotaReleased", data: { reservationId } });

  it("a quota is reserved up to its cap, once by each id, and never by an id that was released", () => {
    given(quotaDecider, reserved("a")).when(reserve("b")).then(reserved("b"));
    given(quotaDecider, reserved("a")).when(reserve("a")).then();
    given(quotaDecider, reserved("a"), reserved("b")).when(reserve("c")).thenRejected("plan_limit_reached");
    given(quotaDecider, reserved("a"), reserved("b")).when(reserve("c", null)).then(reserved("c"));
    given(quotaDecider, reserved("a"), reserved("b"), released("a")).when(reserve("c")).then(reserved("c"));
    given(quotaDecider, released("a")).when(reserve("a")).thenRejected("send_in_progress");
  });

  it("a reservation is given back once, also one that was never made", () => {
    given(quotaDecider, reserved("a")).when(release("a")).then(released("a"));
    given(quotaDecider).when(release("a")).then(released("a"));
    given(quotaDecider, reserved("a"), released("a")).when(release("a")).then();
    expect(fold(quotaDecider, [released("a"), reserved("b"), released("b"), released("b")]).used).to.equal(0);
  });

  it("reservations elsewhere count against the cap of a quota", () => {
    const beside = (elsewhere: number) => ({ ...reserve("b"), elsewhere });
    given(quotaDecider, reserved("a")).when(beside(0)).then(reserved("b"));
    given(quotaDecider, reserved("a")).when(beside(1)).thenRejected("plan_limit_reached");
  });

  it("of many reservations as many are made as fit, in order, without those already known", () => {
    const those = (cap: number | null, elsewhere?: number) =>
      ({ type: "ReserveThoseThatFit", reservationIds: ["a", "z", "b", "b", "c", "d"], cap, elsewhere }) as const;
    const known = [reserved("a"), reserved("z"), released("z")];
    given(quotaDecider, ...known)
      .when(those(3))
      .then(reserved("b"), reserved("c"));
    given(quotaDecider, ...known)
      .when(those(3, 1))
      .then(reserved("b"));
    given(quotaDecider, ...known)
      .when(those(null))
      .then(reserved("b"), reserved("c"), reserved("d"));
    // A smaller plan may allow less than is used.
    given(quotaDecider, ...known)
      .when(those(1, 4))
      .then();
  });

  it("a reservation counts once, however often it is recorded, and not after it was given back", () => {
    const used = (...events: QuotaEvent[]) => fold(quotaDecider, events).used;
    expect(used(reserved("a"), reserved("a"))).to.equal(1);
    expect(used(reserved("a"), reserved("b"), released("a"), released("a"))).to.equal(1);
    expect(used(released("a"), reserved("a"))).to.equal(0);
  });

  it("each workspace and period has its own quota", () => {
    expect(quotaStream("workspace", "month3")).to.equal("quota-workspace-month3");
  });
});
