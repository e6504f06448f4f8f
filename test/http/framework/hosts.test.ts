import { expect } from "chai";
import { pageHeaders } from "#src/html/page.ts";
import { rawExchange, serveRoutes, validKey } from "./support.ts";
import { routes } from "./toys.ts";

describe("host names of pages", () => {
  let service: Awaited<ReturnType<typeof serveRoutes>>;
  let reached: string[];
  before(async () => {
    const metrics = { answered: () => {}, shown: async () => ({ contentType: "text/plain", text: "" }) };
    service = await serveRoutes(routes, {
      ...{ hosts: ["mail.example:8443", "Other.Example", "[2001:db8::7]:443", "192.0.2.7"], metrics },
      beside: [
        ({ path }, response, next) => {
          reached.push(path);
          if (/^\/(a|l|s|hooks|outbox)/.test(path)) return void response.send("a secret");
          next();
        },
      ],
    });
  });
  beforeEach(() => {
    reached = [];
  });
  after(() => service.close());

  const ask = async (line: string, host: string | undefined, more = "") => {
    const head = host === undefined ? "" : `Host: ${host}\r\n`;
    const version = host === undefined ? "1.0" : "1.1";
    const answer = await rawExchange(
      service.port,
      `${line} HTTP/${version}\r\n${head}${more}Connection: close\r\n\r\n`,
    );
    return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]), answer };
  };

  const pages = ["/", "/a/token", "/l/token", "/s/token", "/outbox", "/outbox.json", "/docs", "/docs/contract"];
  const others = ["/openapi.json", "/nowhere", "/V1/toys", "/v1x", "/healthz/", "/Metrics", "/%00", "//v1/toys"];

  for (const host of [
    ...[
      "evil.example",
      "evil.example:8080",
      "mail.example.evil.example",
      "localhost.evil.example",
      "127.0.0.1.evil.example",
    ],
    ...[
      "localhostx",
      "0.0.0.0",
      "192.0.2.8",
      "[2001:db8::8]",
      "xmail.example",
      "mail.example:8443:80",
      "mail.example@evil.example",
    ],
    ...["", "evil.example, mail.example", "mail.example/", "mail..example", "[::1", "::1:x"],
  ])
    it(`a page requested under the foreign host '${host}' is answered 421 before any route`, async () => {
      for (const path of [...pages, ...others]) expect((await ask(`GET ${path}`, host)).status, path).to.equal(421);
      expect((await ask("POST /a/token", host, "Content-Length: 0\r\n")).status).to.equal(421);
      expect(reached).to.deep.equal([]);
    });

  it("a page requested without a Host header is answered 421", async () => {
    expect((await ask("GET /a/token", undefined)).status).to.equal(421);
    expect(reached).to.deep.equal([]);
  });

  for (const host of [
    ...["localhost", "localhost:8080", "LOCALHOST.", "127.0.0.1:1", "127.9.9.9", "[::1]", "[::1]:8080"],
    ...[
      "mail.example",
      "MAIL.example:8443",
      "mail.example.",
      "mail.example:80",
      "other.example",
      "[2001:DB8::7]:1",
      "192.0.2.7",
    ],
  ])
    it(`a page requested under its own or a local host '${host}' is shown`, async () => {
      expect((await ask("GET /a/token", host)).answer).to.match(/^HTTP\/1\.1 200 .*a secret$/s);
      expect((await ask("GET /openapi.json", host)).status).to.equal(200);
      expect((await ask("GET /nowhere", host)).status).to.equal(404);
    });

  it("API routes, hooks, health and metrics are answered under any host name", async () => {
    const host = "evil.example";
    const key = `Authorization: Bearer ${validKey}\r\n`;
    expect((await ask("GET /v1/toys", host, key)).status).to.equal(200);
    expect((await ask("GET /v1/toys", host)).status).to.equal(401);
    for (const path of ["/healthz", "/readyz", "/metrics", "/hooks/telegram/bot"])
      expect((await ask(`GET ${path}`, host)).status, path).to.equal(200);
  });

  it("the refusal of a foreign host shows it escaped and shortened, and names ALLOWED_HOSTS", async () => {
    const { answer } = await ask("GET /a/token", `<b>evil</b>\u202e${"x".repeat(300)}`);
    expect(answer).to.include("&lt;b&gt;evil").and.to.include("open it again").and.to.include("ALLOWED_HOSTS");
    expect(answer).not.to.match(/<b>evil|x{101}|a secret/);
    for (const [name, value] of Object.entries(pageHeaders)) expect(answer).to.include(`${name}: ${value}`);
  });
});
