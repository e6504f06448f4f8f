import { expect } from "chai";
import type { Counts } from "#projections/counts.ts";
import { inbound } from "#projections/inbound/projector.ts";
import { listInbound } from "#projections/inbound/queries.ts";
import { conditions } from "#projections/page.ts";
import type { Projection } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";
import { evaluationCounts } from "#projections/ruleEvaluations/counts.ts";
import { ruleEvaluations } from "#projections/ruleEvaluations/projector.ts";
import { listEvaluations } from "#projections/ruleEvaluations/queries.ts";
import { countThreadsOf } from "#projections/threads/dayCounts.ts";
import { threads } from "#projections/threads/projector.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import type { Recorded } from "#streams/event.ts";
import { filingDecision } from "#test/support/examples/filingDecision.ts";
import { inboundMessage, mailReceived } from "#test/support/examples/index.ts";
import { sized } from "#test/support/full.ts";
import { makeTables, project, unseenTables } from "#test/support/projecting.ts";
import { seeded } from "../../scripts/support/random.ts";

const uuid = (n: number): string => `0193a0aa-0000-7000-8000-${String(n).padStart(12, "0")}`;
const workspaceId = uuid(100);
const identities = [uuid(201), uuid(202)];
const wholeList = { limit: 1, offset: 0 };

type NewEvent = Pick<Recorded, "stream" | "type" | "data"> & { at?: string };

const recorded = (events: readonly NewEvent[]): Recorded[] =>
  events.map(({ at = "2026-11-01T12:00:00.000Z", ...event }, index) => ({
    ...event,
    ...{ id: uuid(1000 + index), revision: index, position: index + 1, schemaVersion: 1 },
    metadata: {
      ...{ workspaceId, actor: { kind: "system", id: "test" } as const, at },
      ...{ correlationId: "test", causationId: "test" },
    },
  }));

describe("the counts of long lists", () => {
  const unseen = unseenTables();
  const random = seeded(23);
  const below = (count: number): number => Math.floor(random() * count);
  const any = <One>(of: readonly One[]): One => of[below(of.length)] as One;
  const readsOf = (tx: Sql) => ({ of: () => tx }) as unknown as Reads;

  const sorted = async (tx: Sql, sql: string) => (await tx.query(sql)).rows.map((row) => JSON.stringify(row)).sort();

  /** Projects events in random batches, with `check` after each, and at once: both must give the same counts. */
  async function projectTwice(
    projection: Projection,
    { events, table, check }: { events: readonly NewEvent[]; table: string; check: (tx: Sql) => Promise<void> },
  ): Promise<void> {
    const all = recorded(events);
    const batched = await unseen(async (tx) => {
      await makeTables(projection, tx);
      for (let from = 0; from < all.length; ) {
        const size = 1 + below(12);
        await project(projection, tx, all.slice(from, from + size));
        from += size;
        await check(tx);
      }
      return sorted(tx, `select * from ${table}`);
    });
    const atOnce = await unseen(async (tx) => {
      await makeTables(projection, tx);
      await project(projection, tx, all);
      return sorted(tx, `select * from ${table}`);
    });
    expect(atOnce).to.deep.equal(batched).and.not.to.deep.equal([]);
  }

  it("deliveries are counted as the ledger has them, also repeated, held, released, quarantined and stray mail", async () => {
    const received = (n: number): NewEvent[] => {
      const stray = random() < 0.2;
      const data = mailReceived({
        ...{ references: [], rawSha256: "raw", workspaceId, number: n },
        identityId: any(identities),
      });
      return [
        {
          stream: "inbox-i",
          type: stray ? "UnknownRecipientReceived" : "MailReceived",
          data: { ...data, deliveryId: uuid(n) },
        },
      ];
    };
    let number = 0;
    const numbers = new Map<number, number>();
    const decided = (n: number): NewEvent => ({
      stream: "filing-i",
      type: "FilingDecided",
      data: filingDecision(numbers.set(n, ++number).get(n) as number, {
        ...{ deliveryId: uuid(n), messageId: uuid(n), threadId: uuid(1) },
        disposition: any(["threaded", "duplicate", "held_over_quota", "held_identity_disabled"]),
      }),
    });
    for (let round = 0; round < sized(3, 20); round++) {
      const events: NewEvent[] = [];
      for (let n = 1; n < 40; n++) {
        events.push(...received(300 + n));
        for (let again = 0; again < 3; again++) {
          const delivery = 301 + below(n);
          if (random() < 0.7) events.push(decided(delivery));
          const ofDelivery = { deliveryId: uuid(delivery), number: numbers.get(delivery) ?? 0, reason: "too large" };
          if (random() < 0.3) events.push({ stream: "filing-i", type: "MailQuarantined", data: ofDelivery });
          const expired = { deliveryIds: [uuid(delivery)], afterDays: 3 };
          if (random() < 0.1) events.push({ stream: "filing-i", type: "HeldMailExpired", data: expired });
        }
      }
      const check = async (tx: Sql): Promise<void> => {
        const rows = (await tx.query("select identity_id, disposition from inbound")).rows;
        for (const identity_id of [undefined, ...identities, "00000000-0000-0000-0000-000000000000"])
          for (const disposition of [undefined, "received", "threaded", "quarantined", "unknown_recipient"]) {
            const { total } = await listInbound(readsOf(tx), workspaceId, {
              ...wholeList,
              ...(identity_id !== undefined && { identity_id }),
              ...(disposition !== undefined && { disposition }),
            });
            const counted = rows.filter(
              (row) =>
                [undefined, row.identity_id].includes(identity_id) &&
                [undefined, row.disposition].includes(disposition),
            );
            expect(total, `${identity_id} ${disposition}`).to.equal(counted.length);
          }
        expect((await tx.query("select from inbound_counts where count <= 0")).rows).to.deep.equal([]);
      };
      await projectTwice(inbound as Projection, { events, table: "inbound_counts", check });
    }
  });

  const rowsCounted =
    ({ table, dimensions }: Counts, of: string) =>
    async (tx: Sql) => {
      const counted = await sorted(
        tx,
        `select ${dimensions.join(", ")}, count(*)::int as count from ${of} group by ${dimensions.join(", ")}`,
      );
      expect(await sorted(tx, `select * from ${table}`)).to.deep.equal(counted);
    };
  const rules = [uuid(1), uuid(2), uuid(3)];

  it("evaluations of rules are counted as they are listed, by whether the rule matched", async () => {
    const evaluated = (run: number): NewEvent => ({
      stream: `ruleRun-${uuid(run)}`,
      type: "RulesEvaluated",
      data: {
        ...{ workspaceId, triggerEvent: "draft.created", triggerEventId: uuid(9), facts: {} },
        subject: { identityId: identities[0], threadId: uuid(1), messageId: null, draftId: null },
        results: rules.map((ruleId) => ({
          ...{ ruleId, ruleName: "Rule", version: 1, matched: random() < 0.4 },
          actions: [{ action: { type: "flag" }, suppressed: null }],
        })),
      },
    });
    const events: NewEvent[] = [];
    for (let run = 500; run < 540; run++) {
      const data = { ruleId: any(rules), index: 0, outcome: "done", reason: null };
      events.push(evaluated(run), { stream: `ruleRun-${uuid(500 + below(run - 499))}`, type: "RuleActionTaken", data });
    }
    const equalRows = rowsCounted(evaluationCounts, "rule_evaluations");
    const check = async (tx: Sql): Promise<void> => {
      await equalRows(tx);
      const rows = (await tx.query("select rule_id, matched from rule_evaluations")).rows;
      for (const ruleId of rules)
        for (const matched of [undefined, true, false]) {
          const filter = { ...wholeList, ruleId, ...(matched !== undefined && { matched }) };
          const { total } = await listEvaluations(readsOf(tx), workspaceId, filter);
          const counted = rows.filter((row) => row.rule_id === ruleId && [undefined, row.matched].includes(matched));
          expect(total).to.equal(counted.length);
        }
    };
    await projectTwice(ruleEvaluations, { events, table: "rule_evaluation_counts", check });
  });

  it("threads of a period are counted as they are listed, with every filter, also after merges", async () => {
    const hourMs = 3_600_000;
    const from = Date.parse("2026-03-01T00:00:00.000Z");
    /** A time within five days, often at the very beginning or end of a day. */
    const time = (): number => from + (below(5) * 24 + any([0, 24, below(24)])) * hourMs - any([0, 1, below(hourMs)]);
    const iso = (ms: number): string => new Date(ms).toISOString();
    const of = (thread: number, type: string, data: object): NewEvent => ({
      ...{ stream: `thread-${uuid(thread)}`, type, data: data as Recorded["data"], at: iso(time()) },
    });
    for (let round = 0; round < sized(3, 20); round++) {
      const [events, alive]: [NewEvent[], number[]] = [[], []];
      for (let thread = 1; thread < 40; thread++) {
        const opens = { ...{ workspaceId, identityId: any(identities), subject: "s", contactId: null } };
        events.push(of(thread, "ThreadOpened", random() < 0.2 ? { ...opens, openedBy: "send" } : opens));
        alive.push(thread);
        for (let again = 0; again < 4; again++) {
          const one = any(alive);
          const receivedAt = iso(time());
          if (random() < 0.7) events.push(of(one, "MessageReceived", inboundMessage(again, { receivedAt })));
          if (random() < 0.2) events.push(of(one, "MessageSent", { to: ["ann@customer.example"] }));
          if (random() < 0.1) events.push(of(one, "MessageHeld", { opensThread: true }));
          if (random() < 0.2) events.push(of(one, "ThreadStatusChanged", { status: any(["open", "closed"]) }));
          if (random() < 0.2) events.push(of(one, "ThreadReviewSet", { needsReview: random() < 0.5 }));
          if (random() < 0.2) events.push(of(one, "ThreadPrioritySet", { priority: any(["normal", "high"]) }));
        }
        if (random() < 0.2 && alive.length > 2) {
          const absorbed = alive.splice(below(alive.length), 1)[0] as number;
          const survivor = any(alive);
          events.push(of(absorbed, "ThreadFrozen", { survivorId: uuid(survivor) }));
          events.push(of(survivor, "ThreadAbsorbed", { absorbedId: uuid(absorbed), part: { n: 1, of: 1 } }));
        }
      }
      const check = async (tx: Sql): Promise<void> => {
        expect((await tx.query("select from thread_days where count <= 0")).rows).to.deep.equal([]);
        for (let tried = 0; tried < 10; tried++) {
          const period = { from: new Date(time()), to: new Date(time()) };
          const asked = any([period, { from: period.from }, { to: period.to }]) as Partial<typeof period>;
          const filter = (column: string, values: readonly unknown[]) =>
            [`${column} = {n}`, random() < 0.4 ? any(values) : undefined] as const;
          const counted = conditions(workspaceId, [
            filter("identity_id", identities),
            filter("status", ["open", "closed"]),
            filter("needs_review", [true, false]),
            filter("priority", ["normal", "high"]),
          ]);
          const { rows } = await tx.query(
            `select count(*)::int as count from threads where ${counted.where.join(" and ")} and in_lists
               and ($${counted.values.length + 1}::timestamptz is null or last_message_at >= $${counted.values.length + 1})
               and ($${counted.values.length + 2}::timestamptz is null or last_message_at <= $${counted.values.length + 2})
               and last_message_at is not null`,
            [...counted.values, asked.from ?? null, asked.to ?? null],
          );
          expect(await countThreadsOf(tx, counted, asked), JSON.stringify(asked)).to.equal(rows[0]?.count);
        }
      };
      await projectTwice(threads as Projection, { events, table: "thread_days", check });
    }
  });
});
