import { expect } from "chai";
import Type from "typebox";
import { scopes } from "#src/http/framework/keys/scopes.ts";
import { openApi } from "#src/http/framework/openapi/openapi.ts";
import { route } from "#src/http/framework/route.ts";
import { ApiKeyCreated, ApiKeyList, CreateApiKey } from "#src/http/schemas/apiKeys.ts";
import { Deleted, Paging, Strict } from "#src/http/schemas/common.ts";
import { DomainList } from "#src/http/schemas/domains.ts";
import { DraftQuery } from "#src/http/schemas/draftQuery.ts";
import { CreateDraft, Draft, DraftList } from "#src/http/schemas/drafts.ts";
import { DraftDiff, DraftVersionList, HistoryList } from "#src/http/schemas/histories.ts";
import { CreateIdentity, Identity, UpdateIdentity } from "#src/http/schemas/identities.ts";
import { InboundList, MessageList } from "#src/http/schemas/messages.ts";
import { ThreadList, ThreadQuery, ThreadRead } from "#src/http/schemas/threads.ts";
import { UpdateWorkspace, Workspace } from "#src/http/schemas/workspaces.ts";
import { serveRoutes } from "./support.ts";

const never = async () => {
  throw new Error("not asked");
};
const read = { limit: "read", summary: "Reads it" } as const;
const write = { limit: "write", summary: "Writes it" } as const;

const routes = [
  route("POST /v1/api-keys", { ...write, scope: "write:keys", body: CreateApiKey, answers: ApiKeyCreated }, never),
  route("GET /v1/api-keys", { ...read, scope: "read:keys", query: Paging, answers: ApiKeyList }, never),
  route("DELETE /v1/api-keys/:id", { ...write, scope: "write:keys", answers: Deleted }, never),
  route(
    "PATCH /v1/workspaces/me",
    { ...write, scope: "write:workspace", body: UpdateWorkspace, answers: Workspace },
    never,
  ),
  route("GET /v1/domains", { ...read, scope: "read:domains", query: Paging, answers: DomainList }, never),
  route(
    "POST /v1/identities",
    {
      ...write,
      scope: "write:identities",
      body: CreateIdentity,
      answers: Identity,
      status: 201,
      errors: ["plan_limit_reached"],
    },
    never,
  ),
  route(
    "PATCH /v1/identities/:id",
    { ...write, scope: "write:identities", body: UpdateIdentity, answers: Identity },
    never,
  ),
  route("GET /v1/threads", { ...read, scope: "read:threads", query: ThreadQuery, answers: ThreadList }, never),
  route("GET /v1/threads/:id", { ...read, scope: "read:threads", answers: ThreadRead }, never),
  route("GET /v1/threads/:id/messages", { ...read, scope: "read:threads", query: Paging, answers: MessageList }, never),
  route("POST /v1/drafts", { ...write, scope: "write:drafts", body: CreateDraft, answers: Draft, status: 201 }, never),
  route("GET /v1/drafts", { ...read, scope: "read:threads", query: DraftQuery, answers: DraftList }, never),
  route(
    "POST /v1/drafts/:id/approve",
    {
      ...write,
      scope: "write:drafts",
      answers: Draft,
      ifMatch: true,
      etag: (draft) => draft.version,
      errors: ["invalid_status"],
    },
    never,
  ),
  route(
    "GET /v1/drafts/:id/versions",
    { ...read, scope: "read:audit", query: Paging, answers: DraftVersionList },
    never,
  ),
  route("GET /v1/drafts/:id/history", { ...read, scope: "read:audit", query: Paging, answers: HistoryList }, never),
  route("GET /v1/drafts/:id/diff", { ...read, scope: "read:audit", answers: DraftDiff }, never),
  route("GET /v1/inbound", { ...read, scope: "read:threads", query: Paging, answers: InboundList }, never),
  route(
    "GET /v1/messages/:id/raw",
    { ...read, scope: "read:threads", answers: { mediaType: "message/rfc822", description: "The original" } },
    never,
  ),
  route("POST /v1/auth/sign-in", { limit: "auth", summary: "Signs in", scope: null, answers: Type.Null() }, never),
];

const info = {
  title: "Toys <&>",
  version: "1.2.3",
  description: "Routes to read about.",
  serverUrl: "http://localhost:8080",
};

describe("http documents and health", () => {
  const document = openApi(routes, info, { idempotency: true, limits: true });
  const operation = (method: string, path: string) => document.paths[path]?.[method];

  describe("the OpenAPI document", () => {
    it("a generated OpenAPI document has every route once, with its own operationId, and no other route", () => {
      const lines = Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      );
      expect(lines.sort()).to.deep.equal(
        routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`).sort(),
      );
      const ids = Object.values(document.paths).flatMap((methods) =>
        Object.values(methods).map(({ operationId }) => operationId),
      );
      expect(new Set(ids).size).to.equal(routes.length);
      expect(ids).to.include("post_drafts_id_approve");
    });

    it("a generated OpenAPI document resolves all references, and has no keyword of our own validator", () => {
      const text = JSON.stringify(document);
      const referred = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map((match) => match[1]!);
      expect(referred).not.to.deep.equal([]);
      for (const name of referred) expect(document.components.schemas).to.have.property(name);
      expect(document.components.schemas.ThreadRead.properties.drafts.items).to.deep.equal({
        $ref: "#/components/schemas/Draft",
      });
      expect(text).not.to.match(/"(lowercase|maxBytes|maxJsonBytes|atLeastOneOf|~kind)"/);
      const { CreateDraft: create } = document.components.schemas;
      expect(create.anyOf).to.deep.equal([{ required: ["body_text"] }, { required: ["body_html"] }]);
      expect(create.properties.rationale.anyOf[0]["x-max-bytes"]).to.equal(8192);
      expect(document.openapi).to.equal("3.1.0");
    });

    it("an OpenAPI document of a service without idempotency does not mention Idempotency-Key", () => {
      expect(JSON.stringify(openApi(routes, info))).not.to.contain("Idempotency-Key");
    });

    it("a documented operation has its scope, parameters, answers and errors", () => {
      const approve = operation("post", "/v1/drafts/{id}/approve");
      expect(approve.security).to.deep.equal([{ apiKey: [] }]);
      expect(approve.description).to.contain("`write:drafts`");
      expect(approve.parameters.map(({ name }: { name: string }) => name)).to.deep.equal([
        "id",
        "If-Match",
        "Idempotency-Key",
      ]);
      expect(Object.keys(approve.responses)).to.include.members([
        "200",
        "401",
        "404",
        "412",
        "413",
        "422",
        "429",
        "500",
        "503",
      ]);
      expect(approve.responses["422"].description).to.contain("`invalid_status`");
      expect(approve.responses["200"].headers).to.have.property("ETag");
      expect(approve).not.to.have.property("requestBody");
      expect(operation("post", "/v1/identities").responses).to.have.property("402");
      expect(operation("post", "/v1/auth/sign-in").security).to.deep.equal([]);
      for (const scope of Object.keys(scopes))
        expect(document.components.securitySchemes.apiKey.description).to.contain(scope);
    });

    it("a parameter or field with a default is documented as optional", () => {
      const limit = operation("get", "/v1/threads").parameters.find(({ name }: { name: string }) => name === "limit");
      expect(limit.required).to.equal(false);
      expect(limit.schema).to.deep.equal({ type: "integer", minimum: 1, maximum: 100, default: 20 });
      expect(document.components.schemas.CreateIdentity.required).to.deep.equal([
        "domain_id",
        "local_part",
        "display_name",
      ]);
      expect(operation("post", "/v1/identities").requestBody.required).to.equal(true);
      expect(operation("patch", "/v1/workspaces/me").requestBody.required).to.equal(false);
    });

    it("two schemas of one name, and two routes of one line, are refused at the start", async () => {
      const twins = [Strict({ a: Type.String() }, { title: "Twin" }), Strict({ b: Type.String() }, { title: "Twin" })];
      const clash = twins.map((answers, index) => route(`GET /v1/t${index}`, { ...read, scope: null, answers }, never));
      expect(() => openApi(clash, info)).to.throw("Twin");
      const twice = await serveRoutes([routes[0]!, routes[0]!]).catch((error) => error.message);
      expect(twice).to.equal("POST /v1/api-keys is declared twice");
    });
  });

  describe("over HTTP", () => {
    let service: Awaited<ReturnType<typeof serveRoutes>>;
    let state: "good" | "bad" | "throws" | "hangs" = "good";
    let asked: string | undefined;
    before(async () => {
      service = await serveRoutes(routes, {
        info,
        readiness: [
          async () => ({ name: "events", ok: true }),
          async function database() {
            asked = state;
            if (state === "throws") throw new Error("connection refused");
            if (state === "hangs") return new Promise<never>(() => {});
            return [{ name: "database", ok: state === "good", detail: state }];
          },
        ],
      });
    });
    after(() => service.close());
    const ask: (typeof service)["ask"] = (line) => service.ask(line, { key: null });

    it("a client that has the OpenAPI document gets 304 by its ETag", async () => {
      const first = await ask("GET /openapi.json");
      const etag = first.headers.get("etag") as string;
      const again = await service.ask("GET /openapi.json", {
        key: null,
        headers: { "If-None-Match": `"x", W/${etag}` },
      });
      expect([first.headers.get("cache-control"), again.status, again.text]).to.deep.equal(["no-cache", 304, ""]);
      const others = await service.ask("GET /openapi.json", { key: null, headers: { "If-None-Match": '"x"' } });
      expect(others.text).to.equal(first.text);
    });

    it("the OpenAPI document and /healthz need no key", async () => {
      expect((await ask("GET /openapi.json")).json).to.deep.equal(JSON.parse(JSON.stringify(openApi(routes, info))));
      expect((await ask("GET /healthz")).json).to.deep.equal({ status: "ok" });
    });

    it("/docs loads nothing from other hosts, and escapes the title", async () => {
      const page = await ask("GET /docs");
      expect(page.headers.get("content-type")).to.equal("text/html; charset=utf-8");
      expect(page.headers.get("content-security-policy")).to.contain("default-src 'none'; script-src 'self'");
      expect(page.text)
        .to.contain("Toys &lt;&amp;&gt;")
        .and.not.to.match(/https?:\/\//);
      for (const [, path] of page.text.matchAll(/(?:href|src)="([^"#][^"]*)"/g)) {
        expect((await ask(`GET ${path}`)).status, path).to.equal(200);
      }
    });

    it("/readyz answers 200 if every part is ready, else 503 with the names of the others", async () => {
      state = "good";
      expect((await ask("GET /readyz")).json.status).to.equal("ready");
      for (const broken of ["bad", "throws", "hangs"] as const) {
        state = broken;
        // An answer is cached for one second: repeat until the check has seen this state.
        let answer = await ask("GET /readyz");
        while (asked !== broken) answer = await ask("GET /readyz");
        expect([answer.status, answer.json.not_ready], broken).to.deep.equal([503, ["database"]]);
      }
    });
  });
});
