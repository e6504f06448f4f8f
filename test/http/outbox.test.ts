import type { AddressInfo, Server } from "node:net";
import { expect } from "chai";
import express from "express";
import { outboxPages } from "#src/http/outbox/outbox.ts";
import { createOutbox } from "#src/mail/out/outbox.ts";
import { createOutboxProvider } from "#src/mail/out/outboxProvider.ts";
import { renderMail, renderNotice } from "#src/mail/out/render.ts";
import { connectDatabase, type Database } from "#src/postgres/database.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

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
    const app = express().use(outboxPages({ outbox: createOutbox(database) }));
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

  async function caught(attemptId: string, { mime, envelope }: Awaited<ReturnType<typeof renderMail>>) {
    const connection = await createOutboxProvider(database).connect();
    await connection.handOver({ attemptId, messageId: `<${attemptId}@x>`, envelope, mime }, () => true);
  }

  it("are there before any mail is", async () => {
    expect(await text("/outbox")).to.include("Nothing has been sent yet");
    expect(await json("/outbox.json")).to.deep.equal([]);
  });

  it("list, show and give out what was caught", async () => {
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

  it("allow no script, and shut a mail's HTML into a sandbox even when it is opened by itself", async () => {
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

  it("answer 404 for what is not there", async () => {
    for (const id of ["0", "999999", "-1", "1e3", "x", "99999999999999999999", "%00", "1'--"])
      for (const path of [`/outbox/${id}`, `/outbox/${id}/raw`, `/outbox/${id}/html`])
        expect((await get(path)).status, path).to.equal(404);
  });
});
