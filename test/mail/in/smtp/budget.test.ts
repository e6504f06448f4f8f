import { expect } from "chai";
import { createBudget } from "#src/mail/in/smtp/budget.ts";

describe("an SMTP client's budget for one identity", () => {
  let now: number;
  let told: string[];
  const budgetOf = (limits: { messages?: number; bytes?: number }) =>
    createBudget(
      { messages: 1_000, bytes: 1_000_000, windowMs: 600_000, ...limits },
      { now: () => now, onOver: (sender, identity) => void told.push(`${sender} ${identity}`) },
    );
  const mail = { messages: 1, bytes: 100 };
  beforeEach(() => {
    [now, told] = [1_000_000, []];
  });

  it("a mail budget is full again after 10 minutes, and its exhaustion is reported once in each window", () => {
    const budget = budgetOf({ messages: 2 });
    for (const window of [1, 2]) {
      expect(budget.spend("ann", "a", mail)).to.be.a("function");
      now += 599_999;
      expect(budget.spend("ann", "a", mail)).to.be.a("function");
      for (let n = 0; n < 3; n++) expect(budget.spend("ann", "a", mail)).to.equal(undefined);
      expect([budget.fits("ann", "a", 1), budget.fits("ann", "b", 1), budget.fits("bob", "a", 1)]).to.deep.equal([
        false,
        true,
        true,
      ]);
      expect(told).to.deep.equal(Array(window).fill("ann a"));
      now += 1;
    }
  });

  it("a mail budget accepts one message larger than itself and none after it", () => {
    const budget = budgetOf({ bytes: 1_000 });
    expect(budget.spend("ann", "a", { messages: 1, bytes: 5_000 })).to.be.a("function");
    expect(budget.fits("ann", "a", 1)).to.equal(false);
  });

  it("a mail budget gets back what was not stored", () => {
    const budget = budgetOf({ messages: 1 });
    budget.spend("ann", "a", mail)!();
    expect(budget.spend("ann", "a", mail)).to.be.a("function");
    expect(budget.spend("ann", "a", mail)).to.equal(undefined);
  });

  it("a mail budget forgets the oldest windows above its limit", () => {
    const budget = budgetOf({ messages: 1 });
    const senders = Array.from({ length: 20_001 }, (_, n) => `sender ${n}`);
    for (const sender of senders) budget.spend(sender, "a", mail);
    const full = senders.filter((sender) => !budget.fits(sender, "a", 1));
    expect(full).to.deep.equal(senders.slice(1));
  });
});
