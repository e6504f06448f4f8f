import { randomUUID } from "node:crypto";
import "#test/support/fewKeyPairs.ts";
import { expect } from "chai";
import {
  type Cursor,
  type Order,
  type Page,
  type PageQuery,
  readPage,
  readPageByIds,
  type Window,
} from "#projections/page.ts";
import type { Tx } from "#projections/projection.ts";
import type { Route } from "#src/http/framework/route.ts";
import { sized } from "#test/support/full.ts";
import { type InProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { realRoutes } from "#test/support/realRoutes.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";

type Json = Record<string, any>;

const answerOf = ({ options }: Route): Json => (options.answers as Json).properties ?? {};
const lists = realRoutes().filter((route) => route.method === "GET" && answerOf(route).data && answerOf(route).total);
const lineOf = ({ method, path }: Route): string => `${method} ${path}`;

const period = "from_date=2026-01-01&to_date=2099-01-01";

/** Filters that are tested besides the plain list. Every value of a `sort` parameter is tested anyway. */
const filters: Record<string, string[]> = {
  "GET /v1/threads": [
    "q=order",
    "q=order&sort=priority",
    "contact=customer",
    "status=open",
    "priority=normal&sort=priority",
    "from_date=2026-01-01",
    period,
  ],
  "GET /v1/contacts": ["q=customer", "domain=customer.example"],
  "GET /v1/drafts": ["status=pending", "q=order", "person=customer", period],
  "GET /v1/inbound": ["disposition=threaded"],
  "GET /v1/rules/:id/evaluations": ["matched=true"],
};

describe("lists by pagination cursor [d0 lists]", () => {
  let service: InProcess;
  let ours: StoryTenant;
  let theirs: Workspace;
  let first: StoryMail;
  let draft: StoryDraft;
  let rule: Json;
  let webhook: Json;

  const made = async (line: string, json: object = {}): Promise<Json> => {
    const answer = await ours.ask(line, { json });
    expect(answer.status, `${line}: ${answer.text}`).to.be.below(300);
    return answer.json;
  };
  const fromStranger = () => {
    const name = `c${randomUUID().slice(0, 8)}`;
    return ours.mail({ from: `Customer ${name} <${name}@customer.example>` });
  };

  /** Adds one row to a list. */
  const more: Record<string, () => Promise<unknown>> = {
    "GET /v1/api-keys": () => made("POST /v1/api-keys", { name: "Another" }),
    "GET /v1/members": () => made("POST /v1/members", { email: `${randomUUID()}@people.example`, role: "approver" }),
    "GET /v1/domains": () => made("POST /v1/domains", { domain_name: `d${randomUUID().slice(0, 8)}.example` }),
    "GET /v1/identities": () => ours.newIdentity(),
    "GET /v1/threads": fromStranger,
    "GET /v1/threads/:id/messages": () => ours.mail({ inReplyTo: first }),
    "GET /v1/drafts": () => ours.draft(first),
    "GET /v1/audit/heads": async () => {
      await draft.edit({ body_text: randomUUID() });
      expect((await ours.ask(`GET /v1/drafts/${draft.id}/evidence`)).status).to.equal(200);
    },
    "GET /v1/drafts/:id/versions": () => draft.edit({ body_text: randomUUID() }),
    "GET /v1/drafts/:id/history": () => draft.edit({ body_text: randomUUID() }),
    "GET /v1/inbound": () => ours.mail(),
    "GET /v1/rules": () =>
      made("POST /v1/rules", { name: "Rule", trigger_event: "draft.sent", status: "inactive", priority: 7 }),
    "GET /v1/rules/:id/evaluations": async () => {
      const path = `/v1/rules/${rule.id}/evaluations`;
      const { total } = (await ours.ask(`GET ${path}`)).json;
      await ours.draft(first);
      await until(async () => (await ours.ask(`GET ${path}`)).json.total > total);
    },
    "GET /v1/contacts": fromStranger,
    "GET /v1/assistants": () => made("POST /v1/assistants", { name: "Assistant" }),
    "GET /v1/webhooks": () =>
      made("POST /v1/webhooks", { url: "http://localhost:9/", events: ["draft.stale"], status: "disabled" }),
    "GET /v1/webhooks/:webhook_id/deliveries": () => made(`POST /v1/webhooks/${webhook.id}/test`),
  };
  const pathOf = (route: Route): string =>
    route.path
      .replace("/threads/:id", `/threads/${first.threadId}`)
      .replace("/drafts/:id", `/drafts/${draft.id}`)
      .replace("/rules/:id", `/rules/${rule.id}`)
      .replace(":webhook_id", webhook.id);

  const read = async (path: string, query: string, { ask }: Pick<Workspace, "ask"> = ours): Promise<Json> => {
    const { status, json, text } = await ask(`GET ${path}?${query}`);
    expect(status, `${path}?${query}: ${text}`).to.equal(200);
    return json;
  };
  /** A signed head has no id: its checkpoint identifies it. */
  const idsOf = ({ data }: Json): string[] => data.map(({ id, checkpoint }: Json) => id ?? checkpoint);

  /** Reads a list page by page with cursors; `between` runs after each page except the last. */
  async function walk(path: string, query: string, between: () => Promise<unknown> = async () => {}) {
    const [ids, totals]: [string[], number[]] = [[], []];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const at: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const answer: Json = await read(path, `limit=2&${query}${at}`);
      ids.push(...idsOf(answer));
      totals.push(answer.total);
      expect(ids.length, "comes to an end").to.be.at.most(answer.total);
      expect([answer.limit, answer.offset, answer.data.length > 0]).to.deep.equal([2, 0, true]);
      cursor = answer.next_cursor;
      if (cursor !== null) await between();
    }
    return { ids, totals };
  }

  before(async () => {
    ({ service, tenant: ours } = await startStory({ WEBHOOK_ALLOWED_HOSTS: "localhost:9" }));
    theirs = await service.workspace();
    first = await ours.mail();
    rule = await made("POST /v1/rules", { name: "Rule", trigger_event: "draft.created" });
    draft = await ours.draft(first);
    webhook = await made("POST /v1/webhooks", { url: "http://localhost:9/", events: ["draft.rejected"] });
  });
  after(() => service?.stop());

  it("every list route is tested with a pagination cursor", () => {
    expect(lists.length).to.be.above(10);
    expect(lists.map(lineOf), "say in this file (more) how a list gets one more row").to.deep.equal(Object.keys(more));
  });

  for (const list of lists) {
    const line = lineOf(list);
    const { sort } = list.query.properties as Json;
    const queries = ["", ...(sort?.enum ?? []).map((value: string) => `sort=${value}`), ...(filters[line] ?? [])];

    it(`${line} by cursor returns the rows of the list by offset, and none twice while rows are added`, async () => {
      const addOne = more[line]!;
      const path = pathOf(list);
      while ((await read(path, "limit=1")).total < sized(3, 7)) await addOne();
      for (const query of queries) {
        const byOffset = await read(path, `limit=100&${query}`);
        expect(byOffset.next_cursor, query).to.equal(null);
        const all = idsOf(byOffset);
        expect(all.length, query).to.be.above(1).and.equal(byOffset.total);
        const { ids, totals } = await walk(path, query);
        expect(ids, query).to.deep.equal(all);
        expect(new Set(totals), query).to.deep.equal(new Set([all.length]));
        const { next_cursor } = await read(path, `limit=1&${query}`);
        expect(idsOf(await read(path, `limit=100&cursor=${next_cursor}&${query}`)), query).to.deep.equal(all.slice(1));
      }
      const before = idsOf(await read(path, "limit=100"));
      let added = 0;
      const { ids } = await walk(path, "", async () => added++ < sized(1, 4) && addOne());
      expect(added).to.be.above(0);
      expect(new Set(ids).size, "none twice").to.equal(ids.length);
      expect(
        ids.filter((id) => before.includes(id)),
        "all that were there",
      ).to.deep.equal(before);
    });
  }

  it("a cursor of another list, filter, order or workspace, or an altered one, is refused", async () => {
    const cursorOf = async (path: string, query = "") => (await read(path, `limit=1&${query}`)).next_cursor as string;
    const threads = await cursorOf("/v1/threads");
    const altered = Buffer.from(threads, "base64url");
    altered[altered.length - 3]! ^= 1;
    const theirCursor = async () => {
      await service.identity(theirs.id);
      await service.identity(theirs.id);
      return (await read("/v1/identities", "limit=1", theirs)).next_cursor as string;
    };
    for (const [path, query] of [
      ["/v1/threads", `cursor=${await cursorOf("/v1/drafts")}`],
      [`/v1/drafts/${draft.id}/versions`, `cursor=${await cursorOf(`/v1/drafts/${draft.id}/history`)}`],
      ["/v1/threads", `cursor=${threads}&status=open`],
      ["/v1/threads", `cursor=${threads}&sort=priority`],
      ["/v1/threads", `cursor=${await cursorOf("/v1/threads", "q=order")}&q=orders`],
      ["/v1/identities", `cursor=${await theirCursor()}`],
      ["/v1/threads", `cursor=${altered.toString("base64url")}`],
      ["/v1/threads", `cursor=${threads}A`],
      ["/v1/threads", `cursor=${threads}.`],
      ["/v1/threads", "cursor="],
      ["/v1/threads", "cursor=0"],
      ["/v1/threads", `cursor=${Buffer.from(`["2026-01-01T00:00:00Z","${first.threadId}"]`).toString("base64url")}`],
      ["/v1/threads", `cursor=${"A".repeat(1001)}`],
    ] as const) {
      const { outcome, json } = await ours.ask(`GET ${path}?${query}`);
      expect([outcome, json.field], query).to.deep.equal(["422 invalid_request", "cursor"]);
      expect(Object.keys(json), query).to.deep.equal(["error", "message", "request_id", "field"]);
    }
  });

  it("a list accepts a cursor or an offset, not both, and no offset above 10,000", async () => {
    const { next_cursor } = await read("/v1/threads", "limit=1");
    for (const [query, sentence] of [
      [`cursor=${next_cursor}&offset=1`, "offset: expected either offset or cursor, not both"],
      [`cursor=${next_cursor}&offset=0`, "offset: expected either offset or cursor, not both"],
      [
        "offset=10001",
        "offset: expected an integer from 0 to 10000; to go further, pass the next_cursor of a page as cursor",
      ],
    ] as const) {
      const { outcome, json } = await ours.ask(`GET /v1/threads?${query}`);
      expect([outcome, json.field], query).to.deep.equal(["422 invalid_request", "offset"]);
      expect(json.message).to.contain(sentence);
    }
    expect((await read("/v1/threads", "offset=10000")).data).to.deep.equal([]);
  });

  describe("pages in SQL", () => {
    type Row = { id: string };
    const rows = Array.from({ length: 60 }, (_, index) => ({
      id: randomUUID(),
      rank: index % 3,
      at: index % 7 === 0 ? "-infinity" : `2026-01-01T00:00:00.00000${index % 4}Z`,
    }));

    async function walked(tx: Tx, ask: typeof readPage, { order, limit }: { order: Order; limit: number }) {
      const window = (after: Cursor | null): Window => ({ limit, offset: 0, after: after ?? undefined });
      const ids: string[] = [];
      let after: Cursor | null = null;
      do {
        const where = ["workspace_id = $1", "rank < $2"];
        const list: PageQuery = {
          select: "id, rank",
          from: "items",
          where,
          values: ["w", 2],
          order,
          window: window(after),
        };
        const { data, next, total }: Page<Row> = await ask<Row>(tx, list);
        expect([total, Object.keys(data[0]!)]).to.deep.equal([40, ["id", "rank"]]);
        ids.push(...data.map(({ id }) => id));
        expect(ids.length, "comes to an end").to.be.at.most(total);
        after = next;
      } while (after !== null);
      return ids;
    }

    it("a page begins exactly after the last row of the one before, also among rows that differ only in their id", async () => {
      await service.database.transaction(async (tx) => {
        await tx.query(
          `create temporary table items (workspace_id text, id uuid, rank int, at timestamptz) on commit drop`,
        );
        await tx.query(
          `insert into items select 'w', id, rank, at from json_to_recordset($1) as row (id uuid, rank int, at timestamptz)`,
          [JSON.stringify(rows)],
        );
        await tx.query("set local timezone = 'Asia/Kathmandu'");
        for (const direction of ["asc", "desc"] as const) {
          const order: Order = { columns: ["rank", "at", "id"], direction };
          const sorted = await tx.query<Row>(
            `select id from items where rank < 2 order by rank ${direction}, at ${direction}, id ${direction}`,
          );
          const all = sorted.rows.map(({ id }) => id);
          for (const limit of [1, 7, 40]) {
            expect(await walked(tx, readPage, { order, limit }), `${direction} ${limit}`).to.deep.equal(all);
            expect(await walked(tx, readPageByIds, { order, limit }), `found ${direction} ${limit}`).to.deep.equal(all);
          }
        }
      });
    });
  });
});
