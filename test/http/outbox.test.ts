import type { AddressInfo, Server } from "node:net";
import { expect } from "chai";
import express from "express";
import { createOutboxAccess, type OutboxAccessOptions } from "#src/http/outbox/access.ts";
import { outboxPages } from "#src/http/outbox/outbox.ts";
import { type CaughtMail, createOutbox } from "#src/mail/out/outbox.ts";
import { createOutboxProvider } from "#src/mail/out/outboxProvider.ts";
import { renderMail, renderNotice } from "#src/mail/out/render.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { Rejected } from "#streams/decider.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { serveRoutes } from "./framework/support.ts";

const cookieKey = Buffer.alloc(32, 7);
const attack = `<script>alert(1)</script><img src=x onerror=alert(1)>"'`;

describe("the outbox pages", () => {
  let server: TestDatabase;
  let database: Database;
  let http: Server;
  let base: string;
  let draftMime: Buffer;

  before(async () => {
    server = await createTestDatabase();
    database = connectDatabase(server);
    const access = createOutboxAccess({
      token: undefined,
      production: false,
      cookieKey,
      clock: { now: () => new Date() },
    });
    const app = express().use(outboxPages({ outbox: createOutbox(database), access, https: false }));
    http = await new Promise((resolve) => {
      const listening: Server = app.listen(0, "127.0.0.1", () => resolve(listening));
    });
    base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  });
  after(async () => {
    await new Promise((resolve) => http.close(resolve));
    await database.close();
    await server.drop();
  });

  const get = (path: string) => fetch(base + path);
  const text = async (path: string) => (await get(path)).text();

  const json = async (path: string): Promise<any> => (await get(path)).json();

  async function caught(attemptId: string, mail: Awaited<ReturnType<typeof renderMail>>) {
    const connection = await createOutboxProvider(database).connect();
    await connection.handOver({ attemptId, messageId: `<${attemptId}@x>`, ...mail }, () => true);
  }

  it("the outbox pages work before any mail was sent", async () => {
    expect(await text("/outbox")).to.include("Nothing has been sent yet");
    expect(await json("/outbox.json")).to.deep.equal([]);
  });

  it("the outbox lists and shows each mail, with its markup escaped, and returns its bytes", async () => {
    const content = draftContent({
      subject: attack,
      body_text: attack,
      body_html: `<p id="mark">Hi</p>${attack}`,
      bcc: ["hidden@x.example"],
    });
    const rendered = await renderMail({ content, messageId: "<1@x>", date: new Date(0), attachments: new Map() });
    draftMime = rendered.mime;
    await caught("1", rendered);
    const link = "http://localhost:8080/a/token_1-x";
    const notice = {
      from: { name: "Countersign", address: "approvals@x.example" },
      to: "boss@x.example",
      subject: "Approve?",
      messageId: "<2@x>",
      date: new Date(0),
    };
    await caught("2", await renderNotice({ ...notice, text: `Open ${link}.`, html: `<a href="${link}">Open</a>` }));

    const list = await text("/outbox");
    expect(list.indexOf("Approve?")).to.be.greaterThan(0).and.lessThan(list.indexOf("&lt;script&gt;"));
    expect(list).not.to.include("<script");

    const [first, second] = await json("/outbox.json");
    expect(first).to.deep.include({
      message_id: "<1@x>",
      from: "support@agents.localhost",
      to: ["ann@customer.example", "hidden@x.example"],
      subject: attack,
      raw_url: `/outbox/${first.id}/raw`,
    });
    expect([first.text, first.headers["in-reply-to"]]).to.deep.equal([`${attack}\n`, "<question@customer.example>"]);
    expect(second).to.deep.include({ subject: "Approve?", to: ["boss@x.example"] });
    expect(await json(`/outbox.json?after=${first.id}`)).to.deep.equal([second]);

    const shown = await text(`/outbox/${first.id}`);
    expect(shown).to.include("hidden@x.example").and.to.include("&lt;script&gt;");
    expect(shown).not.to.match(/<script|<img|id="mark"/);
    expect(await text(`/outbox/${second.id}`)).to.include(
      `<a href="${link}" target="_blank" rel="noopener noreferrer">${link}</a>.`,
    );
    const raw = await get(first.raw_url);
    expect(Buffer.from(await raw.arrayBuffer()).equals(draftMime)).to.equal(true);
    expect(raw.headers.get("content-disposition")).to.match(/^attachment/);
  });

  it("the outbox pages allow no script, and a mail's HTML is sandboxed even when it is opened directly", async () => {
    const [first] = await json("/outbox.json");
    for (const path of ["/outbox", `/outbox/${first.id}`, "/outbox/0"]) {
      expect((await get(path)).headers.get("content-security-policy"), path).to.match(
        /^default-src 'none'(?!.*script-src)(?!.*img-src)/,
      );
    }
    const body = await get(`/outbox/${first.id}/html`);
    expect(body.headers.get("content-security-policy")).to.match(
      /^default-src 'none';(?!.*script)(?!.*allow-same-origin).* sandbox allow-popups/,
    );
    expect(await body.text()).to.include('<p id="mark">Hi</p>');
    expect(await text(`/outbox/${first.id}`)).to.match(
      /<iframe [^>]*sandbox="allow-popups allow-popups-to-escape-sandbox"/,
    );
  });

  it("the outbox answers 404 for a mail that does not exist", async () => {
    for (const id of ["0", "999999", "-1", "1e3", "x", "99999999999999999999", "%00", "1'--"])
      for (const path of [`/outbox/${id}`, `/outbox/${id}/raw`, `/outbox/${id}/html`])
        expect((await get(path)).status, path).to.equal(404);
  });
});

describe("access to the outbox", () => {
  const token = "the-operators-token-of-the-outbox";
  const mail: CaughtMail = {
    ...{ id: 1, at: new Date(0), messageId: "<1@x>", attemptId: "1", subject: "Approve?", text: "secret link" },
    ...{ envelope: { from: "a@x.example", to: ["boss@x.example"] }, from: { name: "", address: "a@x.example" } },
    ...{ html: "<p>secret link</p>", headers: {}, attachments: [] },
  };
  const outbox = {
    newest: async () => [mail],
    async *after() {
      yield mail;
    },
    find: async () => mail,
    raw: async () => Buffer.from("secret link"),
  };
  const every = ["/outbox", "/outbox.json", "/outbox/1", "/outbox/1/html", "/outbox/1/raw"];
  // Further spellings that Express routes to the same pages.
  const written = [...every, "/OUTBOX", "/outbox/", "/Outbox.json", "/outbox/1/", "/outbox/1/RAW", "/outbox/%31"];
  const none: Record<string, string> = {};
  const elsewhere: Record<string, string> = { "X-Forwarded-For": "192.0.2.1" };
  let now = 0;
  let wrongTokens = 0;
  let tooMany = false;
  const closing: (() => Promise<void>)[] = [];
  beforeEach(() => {
    [now, wrongTokens, tooMany] = [Date.parse("2026-11-20T12:00:00Z"), 0, false];
  });
  afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

  async function serve(options: Partial<OutboxAccessOptions>, https = false) {
    const countWrong = async () => {
      wrongTokens += 1;
      if (tooMany) throw new Rejected("rate_limited", "too many", { retryAfter: 7 });
    };
    const clock = { now: () => new Date(now) };
    const access = createOutboxAccess({ token, production: false, cookieKey, clock, countWrong, ...options });
    const pages = outboxPages({ outbox, access, https });
    const paths = pages.stack.flatMap(({ route }) => (route && "get" in (route as any).methods ? [route.path] : []));
    expect(paths.map((path) => path.replace(":id", "1"))).to.deep.equal(every);
    const { url, close } = await serveRoutes([], { beside: [pages] });
    closing.push(close);
    const ask = async (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) => {
      const response = await fetch(url + path, { headers, redirect: "manual", ...init });
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    const enterToken = (given: string, path = "/outbox") =>
      ask(
        path,
        { "Content-Type": "application/x-www-form-urlencoded", ...elsewhere },
        {
          ...{ method: "POST", body: new URLSearchParams({ token: given }) },
        },
      );
    return {
      ask,
      enterToken,
      reached: async (headers: Record<string, string>) => {
        const answers = await Promise.all(written.map((path) => ask(path, headers)));
        const [in_, out] = [
          answers.filter(({ status }) => status === 200),
          answers.filter(({ status }) => status === 404),
        ];
        for (const { text } of out) expect(text).to.not.match(/secret|Approve\?|boss/);
        return in_.length === written.length ? "all" : out.length === written.length ? "nothing" : "some";
      },
    };
  }

  const bearer = (value: string): Record<string, string> => ({ Authorization: `Bearer ${value}` });

  it("outside production without a token, only this machine may see the outbox", async () => {
    const { reached, enterToken, ask } = await serve({ token: undefined });
    expect(await reached({})).to.equal("all");
    for (const headers of [elsewhere, bearer("undefined"), bearer("")])
      expect(await reached({ ...elsewhere, ...headers })).to.equal("nothing");
    expect((await ask("/outbox", elsewhere)).headers.get("content-type")).to.match(/json/);
    expect((await enterToken("undefined")).status).to.equal(404);
  });

  it("outside production with a token, this machine and other machines with the token may see the outbox", async () => {
    const { reached } = await serve({});
    expect(await reached({})).to.equal("all");
    expect(await reached(elsewhere)).to.equal("nothing");
    expect(await reached({ ...elsewhere, ...bearer(token) })).to.equal("all");
    expect(await reached({ ...elsewhere, ...bearer(`${token}x`) })).to.equal("nothing");
  });

  it("in production without a token, nobody may see the outbox, and no form is shown", async () => {
    const { reached, ask, enterToken } = await serve({ production: true, token: undefined });
    const forged = { Cookie: `countersign_outbox=9999999999999.${"A".repeat(43)}` };
    for (const headers of [none, elsewhere, bearer(""), bearer("undefined"), forged])
      expect(await reached(headers)).to.equal("nothing");
    const answers = await Promise.all(["/outbox", "/nowhere"].map((path) => ask(path, { "X-Request-Id": "r" })));
    expect(answers[0]!.text).to.equal(answers[1]!.text);
    expect((await enterToken("")).status).to.equal(404);
  });

  it("in production with a token, the outbox needs the token, also from this machine", async () => {
    const { reached } = await serve({ production: true });
    expect(await reached({})).to.equal("nothing");
    expect(await reached(bearer(token))).to.equal("all");
    expect(await reached({ ...elsewhere, ...bearer(token) })).to.equal("all");
  });

  it("the outbox's form sets a cookie that is valid for twelve hours and this token alone", async () => {
    const { ask, enterToken, reached } = await serve({ production: true }, true);
    const asked = await ask("/outbox");
    expect([asked.status, asked.text.includes('<form method="post" action="/outbox">')]).to.deep.equal([404, true]);
    expect(asked.headers.get("content-security-policy")).to.match(
      /default-src 'none'.*form-action 'self'.*frame-ancestors 'none'/,
    );
    const entered = await enterToken(` ${token} `, "/outbox?next=https://evil.example&return=//evil.example");
    expect([entered.status, entered.headers.get("location")]).to.deep.equal([303, "/outbox"]);
    const [, value = "", attributes = ""] = /^(countersign_outbox=[^;]+); (.*)$/.exec(
      entered.headers.get("set-cookie")!,
    )!;
    expect(attributes).to.equal("Path=/outbox; Max-Age=43200; HttpOnly; SameSite=Strict; Secure");
    expect(value).not.to.include(token);
    expect(await reached({ ...elsewhere, Cookie: `other=1; ${value}; more=2` })).to.equal("all");
    const [expiry = "", mac = ""] = value.split("=")[1]!.split(".");
    for (const forged of [
      `${Number(expiry) + 1}.${mac}`,
      `${expiry}.${mac.replace(/^./, (c) => (c === "A" ? "B" : "A"))}`,
      `${expiry}.`,
      expiry,
      token,
    ])
      expect(await reached({ Cookie: `countersign_outbox=${forged}` }), forged).to.equal("nothing");
    const other = await serve({ production: true, token: "another-token-of-the-operator" });
    expect(await other.reached({ Cookie: value })).to.equal("nothing");
    now += 43_200_000;
    expect(await reached({ Cookie: value })).to.equal("nothing");
  });

  it("wrong tokens of the outbox are refused and counted, until there are too many", async () => {
    const { ask, enterToken } = await serve({ production: true });
    for (const given of ["wrong", "", "x".repeat(5_000)]) {
      const { status, headers, text } = await enterToken(given);
      expect([status, headers.get("set-cookie")]).to.deep.equal([404, null]);
      expect(text).to.include("That token is not right");
    }
    expect((await ask("/outbox.json", bearer("wrong"))).status).to.equal(404);
    expect(wrongTokens).to.equal(3);
    // A request without a token is not counted, nor is one with the right token.
    await ask("/outbox");
    await ask("/outbox", bearer(token));
    expect(wrongTokens).to.equal(3);
    tooMany = true;
    for (const refused of [await enterToken("wrong"), await ask("/outbox.json", bearer("wrong"))])
      expect([refused.status, refused.headers.get("retry-after")]).to.deep.equal([429, "7"]);
    expect((await enterToken(token)).status).to.equal(303);
  });

  it("the outbox's cookie has no Secure attribute if the service is on http", async () => {
    const { enterToken } = await serve({});
    expect((await enterToken(token)).headers.get("set-cookie")).to.match(/HttpOnly; SameSite=Strict$/);
  });
});
