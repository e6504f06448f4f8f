import { expect } from "chai";
import { pageHeaders } from "#src/html/page.ts";
import { frontPage } from "#src/http/frontPage.ts";
import type { ReadinessCheck } from "#src/http/health/health.ts";
import { serveRoutes } from "./framework/support.ts";

describe("the front page", () => {
  const closing: (() => Promise<void>)[] = [];
  after(() => Promise.all(closing.map((close) => close())));

  async function served(readiness: readonly ReadinessCheck[], hasOutbox = false): Promise<string> {
    const { url, close } = await serveRoutes([], {
      beside: [frontPage({ readiness, hasOutbox: () => hasOutbox, hasSession: () => false })],
    });
    closing.push(close);
    return url;
  }
  const ready: ReadinessCheck = async () => ({ name: "database", ok: true });
  const broken: ReadinessCheck = async () => ({ name: "event_store", ok: false, detail: "postgres://u:hunter2@h/d" });

  it("the front page says without a key that the service is ready, and links to the documents", async () => {
    const response = await fetch(`${await served([ready])}/`);
    expect(response.status).to.equal(200);
    const text = await response.text();
    expect(text)
      .to.include("<h1>Countersign is running</h1>")
      .and.to.include("A person approves each reply before it is sent");
    expect(text).to.include('href="/docs"').and.not.to.include("/outbox");
    for (const [name, value] of Object.entries(pageHeaders)) expect(response.headers.get(name), name).to.equal(value);
  });

  it("the front page links to the outbox if there is one", async () => {
    const text = await (await fetch(`${await served([ready], true)}/`)).text();
    expect(text).to.include('href="/outbox"');
  });

  it("the front page names a part that is not ready, without its details", async () => {
    const text = await (await fetch(`${await served([ready, broken])}/`)).text();
    expect(text).to.include("<h1>Countersign is not ready</h1>").and.to.include("event_store");
    expect(text).not.to.include("hunter2").and.not.to.include("database");
  });

  it("the front page answers HEAD with GET's headers, and POST with 404", async () => {
    const url = await served([ready]);
    const [get, head] = [await fetch(`${url}/`), await fetch(`${url}/`, { method: "HEAD" })];
    expect([head.status, await head.text()]).to.deep.equal([200, ""]);
    for (const name of [...Object.keys(pageHeaders), "Content-Length"])
      expect(head.headers.get(name), name).to.equal(get.headers.get(name));
    await get.text();
    expect((await fetch(`${url}/`, { method: "POST" })).status).to.equal(404);
  });
});
