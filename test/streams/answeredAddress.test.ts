import { expect } from "chai";
import { answeredAddressDecider } from "#streams/answeredAddress/decider.ts";
import type { AnsweredAddressEvent } from "#streams/answeredAddress/events.ts";
import { fold, Rejected } from "#streams/decider.ts";
import { reachedLimitIn } from "#streams/draft/warnings.ts";

type Answer = AnsweredAddressEvent["data"];

const limits = [
  { count: 10, seconds: 3_600 },
  { count: 30, seconds: 86_400 },
];
const second = (n: number): string => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();

/** An answer at this second, to a message that came `after` seconds before. */
const answer = (
  at: number,
  {
    after = 1,
    by = "key",
    id = `m${at}`,
    isMachine,
  }: { after?: number; by?: Answer["by"]; id?: string; isMachine?: true } = {},
): Answer => ({
  ...{ workspaceId: "w", draftId: `d${at}`, messageId: id, receivedAt: second(at - after), at: second(at), by },
  ...(isMachine && { isMachine }),
});

/** Sends the answers one after the other; returns the seconds of those that were accepted, and the first refusal. */
function send(answers: readonly Answer[]) {
  const events: AnsweredAddressEvent[] = [];
  let state = answeredAddressDecider.initial;
  const refused: { answer: Answer; refusal: Rejected }[] = [];
  for (const each of answers) {
    try {
      const decided = answeredAddressDecider.decide({ type: "CountAnswer", answer: each, limits }, state);
      state = decided.reduce(answeredAddressDecider.evolve, state);
      events.push(...decided);
    } catch (refusal) {
      if (!(refusal instanceof Rejected)) throw refusal;
      refused.push({ answer: each, refusal });
    }
  }
  return { accepted: events.map(({ data }) => data.messageId), refused };
}

const every = (seconds: number, count: number, different: Parameters<typeof answer>[1] = {}): Answer[] =>
  Array.from({ length: count }, (_, n) => answer(1 + n * seconds, different));

describe("answers to one address that no person approved [d13 loop guard]", () => {
  it("a grant answers one address ten times in an hour and thirty times in a day", () => {
    const { accepted, refused } = send(every(5, 12, { by: "grant" }));
    expect([accepted.length, refused.length]).to.deep.equal([10, 2]);
    expect(refused[0]!.refusal).to.deep.include({ code: "loop_guarded", details: { ends_at: second(3_601) } });
    expect(reachedLimitIn(refused[0]!.refusal.message)).to.equal(
      "10 answers to this address were sent within an hour that no person approved, which is the limit",
    );
    expect(send([...every(5, 10, { by: "grant" }), answer(3_602, { by: "grant" })]).refused).to.have.length(0);
    expect(send(every(600, 100, { by: "grant" })).accepted).to.have.length(30);
  });

  it("a key answers a machine as often as a grant answers anybody", () => {
    expect(send(every(120, 20, { isMachine: true })).accepted).to.have.length(10);
  });

  it("a key's answers count from the third quick message running on, those before in the run too", () => {
    expect(send(every(5, 15)).accepted).to.have.length(10);
    expect(send(every(70, 40)).refused, "a customer who takes a minute").to.have.length(0);
    const pairs = Array.from({ length: 20 }, (_, n) => [answer(1 + n * 200), answer(6 + n * 200)]).flat();
    expect(send(pairs).refused, "never three running").to.have.length(0);
  });

  it("several drafts on one message are one answer, and so is one that is sent again", () => {
    const { accepted, refused } = send([answer(1, { id: "m" }), ...every(5, 30, { id: "m", by: "grant" })]);
    expect([accepted, refused]).to.deep.equal([["m"], []]);
  });

  /** Answers from this second on, one in each, to messages that all came at the second `received`. */
  const answersTo = (
    count: number,
    { received, at, by = "grant" }: { received: number; at: number; by?: Answer["by"] },
  ) => Array.from({ length: count }, (_, n) => answer(at + n, { after: at + n - received, by }));

  it("an answer to a message that came before the first answer of a day is not counted", () => {
    const first = answer(1, { by: "grant" });
    expect(send([first, ...answersTo(30, { received: 0, at: 2 })]).accepted).to.deep.equal(["m1"]);
    const nextDay = [first, ...answersTo(30, { received: 89_000, at: 90_000 })];
    expect(send(nextDay).accepted).to.deep.equal(["m1", "m90000"]);
  });

  it("every mail of a program that sends several for each of ours counts, however late", () => {
    const doubling = (seconds: number, by: Answer["by"]) =>
      [0, 1, 2, 3].flatMap((n) => answersTo(2 ** n, { received: n * seconds + 50, at: n * seconds + 51, by }));
    for (const [seconds, by] of [
      [60, "grant"],
      [550, "grant"],
      [60, "key"],
    ] as const)
      expect(send(doubling(seconds, by)).accepted, `${by}, each ${seconds} s`).to.have.length(10);
  });

  it("a mail that came with the first one begins a second loop, whose answers count", () => {
    const twoLoops = [0, 10, 20, 30, 40, 50].flatMap((n) => answersTo(2, { received: n, at: n + 1 }));
    const { accepted, refused } = send(twoLoops);
    expect([accepted.length, refused.length]).to.deep.equal([10, 1]);
    expect(accepted.slice(0, 2)).to.deep.equal(["m1", "m11"]);
  });

  it("a refusal names the time from which every limit allows one more", () => {
    const answers = [...every(600, 20, { by: "grant" }), ...answersTo(11, { received: 19_999, at: 20_000 })];
    const { refusal } = send(answers).refused[0]!;
    expect(refusal.details).to.deep.equal({ ends_at: second(86_401) });
    expect(refusal.message).to.match(/^30 answers to this address were sent within a day/);
  });

  it("answers of a key that do not count make no counted one be forgotten", () => {
    const grants = every(600, 143, { by: "grant" });
    const keys = Array.from({ length: 700 }, (_, n) => answer(1 + n * 121, { id: `k${n}` }));
    const { accepted } = send([...grants, ...keys].sort((a, b) => (a.at < b.at ? -1 : 1)));
    expect(accepted.filter((id) => id.startsWith("m"))).to.have.length(30);
  });

  it("the state keeps a day of answers, two hundred at most", () => {
    const events = every(60, 400, { after: 1 }).map(
      (data): AnsweredAddressEvent => ({ type: "AddressAnswered", data }),
    );
    expect(fold(answeredAddressDecider, events).answers).to.have.length(200);
    const later = { type: "AddressAnswered", data: answer(200_000) } as const;
    expect(fold(answeredAddressDecider, [...events, later]).answers).to.have.length(1);
  });
});
