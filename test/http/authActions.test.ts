import { readFileSync } from "node:fs";
import { expect } from "chai";
import { authActions } from "#src/http/auth/actions.ts";
import { authRoutes } from "#src/http/auth/index.ts";
import { authRates } from "#src/http/auth/limits.ts";

/** Stands for every dependency: this test calls no route. */
const nobody: any = new Proxy(() => nobody, { get: (_, name) => (name === "then" ? undefined : nobody) });

const rateOf = Object.fromEntries(
  authActions(nobody).map(({ route: { method, path }, limit }) => [`${method} ${path}`, authRates[limit]]),
);

describe("the actions of /auth", () => {
  it("every action of /auth has the contract's rate limit [8 /auth/*]", () => {
    expect(rateOf).to.include({
      "POST /auth/sign-up": 5,
      "POST /auth/password/forgot": 5,
      "POST /auth/password/reset": 5,
      "POST /auth/sign-in": 10,
      "POST /auth/confirm": 10,
      "GET /auth/session": 60,
    });
    for (const [line, rate] of Object.entries(rateOf)) expect(rate, line).to.be.within(5, 60);
  });

  it("the contract's page lists every action of /auth with its fields and status", () => {
    const text = readFileSync(new URL("../../src/http/docs/contract.md", import.meta.url), "utf8");
    for (const { method, path, body, options } of authRoutes(nobody)) {
      const row = text.split("\n").find((line) => line.startsWith(`| \`${method} ${path}\` |`));
      expect(row, path).to.be.a("string");
      const [, , fields, answer] = row!.split("|") as [string, string, string, string];
      const named = [...fields.matchAll(/`(\w+)`/g)].map((match) => match[1]);
      expect(named, path).to.have.members(Object.keys((body as unknown as { properties: object }).properties));
      expect(answer, path).to.include(String(options.status ?? 200));
    }
    expect(text.match(/^\| `(GET|POST) \/auth\//gm)).to.have.length(authRoutes(nobody).length);
  });

  it("the only GET among the actions of /auth is /auth/session", () => {
    const looking = authRoutes(nobody).filter(({ method }) => method === "GET");
    expect(looking.map(({ path }) => path)).to.deep.equal(["/auth/session"]);
  });
});
