import { expect } from "chai";
import { pageHeaders } from "#src/html/page.ts";
import { consoleAssets } from "#src/http/web/assets.ts";
import { serveRoutes } from "./framework/support.ts";

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

describe("addresses without a page", () => {
  let url: string;
  let close: () => Promise<void>;
  before(async () => {
    ({ url, close } = await serveRoutes([], { beside: [consoleAssets().router] }));
  });
  after(() => close());

  const ask = async (path: string, accept?: string, method = "GET") => {
    const response = await fetch(url + path, { method, headers: accept === undefined ? {} : { accept } });
    return { response, text: await response.text(), type: response.headers.get("content-type")?.split(";")[0] };
  };

  it("a browser gets a page that leads to the start page, and nothing of the address is repeated", async () => {
    for (const path of ["/no/such/page", "/v1x", "/drafts/", "/%3Cimg%3E?x=<script>"]) {
      const { response, text, type } = await ask(path, browser);
      expect([response.status, type], path).to.deep.equal([404, "text/html"]);
      expect(text).to.include("There is no such page").and.to.include('href="/"');
      expect(text).not.to.match(/no\/such|<img|<script/);
      for (const [name, value] of Object.entries(pageHeaders)) expect(response.headers.get(name), name).to.equal(value);
    }
  });

  it("a program gets JSON, and so does everyone at the addresses of programs", async () => {
    const asked = [
      ...[undefined, "*/*", "application/json"].map((accept) => ask("/no/such/page", accept)),
      ...["/v1/nothing", "/v1", "/mcp/nothing", "/auth/nothing", "/hooks/nothing"].map((path) => ask(path, browser)),
      ask("/no/such/page", browser, "POST"),
    ];
    for (const { type, text } of await Promise.all(asked)) {
      expect(type).to.equal("application/json");
      expect(JSON.parse(text)).to.have.property("error");
    }
  });

  it("every page has an icon, also those that name none", async () => {
    const { response, text, type } = await ask("/favicon.ico");
    expect([response.status, type]).to.deep.equal([200, "image/svg+xml"]);
    expect(text).to.include("<svg");
  });
});
