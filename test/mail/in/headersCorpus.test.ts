import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { seeded } from "../../../scripts/support/random.ts";
import { type CorpusFile, corpus, hasCorpus, listMail, mail, sharedJson } from "./mails.ts";

type Named = { name: string; ids: string[] };

function grouped<T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** Groups mails that name common ids into conversations; returns the sorted names of each. */
function conversations(mails: Named[]): string[][] {
  const parent = new Map<string, string>();
  const root = (id: string): string => {
    let at = id;
    while (parent.has(at)) at = parent.get(at)!;
    return at;
  };
  for (const { ids } of mails)
    for (const id of ids.slice(1)) {
      const [one, other] = [root(ids[0]!), root(id)];
      if (one !== other) parent.set(one, other);
    }
  const groups = grouped(mails, ({ ids }) => root(ids[0]!));
  return [...groups.values()].map((group) => group.map(({ name }) => name).sort());
}

const byFirst = (groups: string[][]): string[][] => groups.toSorted((a, b) => (a[0]! < b[0]! ? -1 : 1));

const named = ({ name, raw }: CorpusFile): Named => {
  const { messageId, threadIds } = readHeaders(raw);
  return { name, ids: [messageId, ...threadIds] };
};

function shuffled<T>(items: T[], seed: number): T[] {
  const random = seeded(seed);
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

if (hasCorpus("list-mail"))
  describe("readHeaders with 2,500 mails of mailing lists", () => {
    let mails: CorpusFile[];
    let expected: string[][];
    before(() => {
      const all = listMail();
      mails = all;
      expected = [...grouped(all, ({ conversation }) => conversation).values()].map((group) =>
        group.map(({ name }) => name).sort(),
      );
    });

    it("2,500 mailing list mails form their known conversations, in any order", () => {
      expect(mails).to.have.length(2_500);
      const read = mails.map(named);
      for (const seed of [1, 2, 3])
        expect(byFirst(conversations(shuffled(read, seed)))).to.deep.equal(byFirst(expected));
    });

    it("2,500 mailing list mails are people's or lists', except for three automatic ones", () => {
      const machines = mails.filter(({ raw }) => ["bounce", "auto_reply"].includes(readHeaders(raw).classification));
      expect(machines.map(({ name }) => name)).to.deep.equal(
        ["01436", "01507", "01542"].map((n) => `list-mail/${n}.eml`),
      );
    });

    it("2,500 mailing list mails all have a date and a sender", () => {
      const silent = mails.filter(({ raw }) => {
        const { date, from } = readHeaders(raw);
        return date === null || from === null;
      });
      expect(silent.map(({ name }) => name)).to.deep.equal([]);
    });
  });

if (hasCorpus("automatic"))
  describe("readHeaders with 622 bounces, reports and automatic replies", () => {
    it("more than 95 % of 622 automatic mails are recognised, and 85 % of those name the mail they report", () => {
      const all = corpus("automatic").filter(({ name }) => !/not-bounce|cr-only/.test(name));
      const kinds = all.map(({ raw }) => readHeaders(raw));
      const machines = kinds.filter(
        ({ classification }) => classification === "bounce" || classification === "auto_reply",
      );
      const reporting = machines.filter(({ reportedMessageIds }) => reportedMessageIds.length > 0);
      expect(all.length).to.be.above(590);
      expect(machines.length / all.length).to.be.above(0.95);
      expect(reporting.length / machines.length).to.be.above(0.85);
    });
  });

if (hasCorpus("mime"))
  describe("readHeaders with some 200 mails of odd structure", () => {
    it("every mail of odd structure gets a Message-ID", () => {
      for (const { name, raw } of corpus("mime")) expect(readHeaders(raw).messageId, name).to.match(/^<[^<>\s]+>$/);
    });
  });

if (hasCorpus("mime"))
  describe("readHeaders with a published set of thread vectors", () => {
    it("published thread vectors form the components that their references connect", () => {
      type Vector = { message_id: string; references: string[]; in_reply_to?: string };
      const published = sharedJson("thread-vectors.json") as { messages: Vector[] };
      // Many of these ids have no @ and would be ignored.
      const whole = (id: string): string => (id.includes("@") ? id : id.replace(">", "@vectors.example>"));
      const messages = published.messages.map(({ message_id, references }) => ({
        message_id: whole(message_id),
        references: references.map(whole),
      }));
      const read = messages.map((vector) => {
        const raw = mail([`Message-ID: ${vector.message_id}`, `References: ${vector.references.join(" ")}`]);
        const { messageId, threadIds } = readHeaders(raw);
        return { name: vector.message_id, ids: [messageId, ...threadIds] };
      });
      const want = messages.map((vector) => ({
        name: vector.message_id,
        ids: [vector.message_id, ...vector.references],
      }));
      expect(byFirst(conversations(shuffled(read, 5)))).to.deep.equal(byFirst(conversations(want)));
      expect(read.every(({ name, ids }) => ids[0] === name)).to.equal(true);
    });
  });
