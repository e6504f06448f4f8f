import { connect } from "node:net";
import { expect } from "chai";
import type { Document } from "#src/http/framework/openapi/openapi.ts";
import type { HttpAnswer } from "#test/support/asking.ts";
import { createDocumentCheck } from "#test/support/documentCheck.ts";
import { bodyOf, makeTenant, pathOf, type Tenant, webhookHost } from "#test/support/examples/world.ts";
import { hostileBodies, type Operation, operationsOf, planted } from "#test/support/hostileRequests.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";
import { realDocument } from "#test/support/realRoutes.ts";
import { rotated } from "#test/support/rotated.ts";

/** Requests to every route of the OpenAPI document that it must refuse. */
describe("attacks by request", function () {
  this.timeout(600_000);
  let service: InProcess;
  let tenant: Tenant;
  let document: Document;
  let operations: Operation[];

  before(async () => {
    service = await startInProcess({ WEBHOOK_ALLOWED_HOSTS: webhookHost });
    document = realDocument();
    tenant = await makeTenant(service, document);
    operations = operationsOf(document);
  });

  after(() => service.stop());

  const lineOf = ({ method, path }: Operation) => `${method} ${pathOf(path, tenant)}`;
  /** Returns a valid body for the route. */
  const bodyFor = ({ body }: Operation) => (body ? bodyOf(body, document.components.schemas, tenant) : {});
  const draft = () => bodyFor(operations.find(({ method, path }) => `${method} ${path}` === "POST /v1/drafts")!);

  const expectEnvelope = ({ status, json, text }: HttpAnswer, statuses: number[], what: string) => {
    expect(statuses, `${what}: ${status} ${text.slice(0, 300)}`).to.include(status);
    expect(json, what).to.include.keys("error", "message", "request_id");
    expect(text, what).not.to.match(/\.ts:|node_modules| at Object|SELECT|select /);
  };

  const hostiles = () =>
    operations
      .filter(({ body }) => body !== null)
      .flatMap((operation) => hostileBodies(operation.body!).map((hostile) => ({ operation, hostile })));

  /** Returns some of the hostile values for every field of every route; in a full run all of them. */
  const inTurn = (all: ReturnType<typeof hostiles>) => {
    const fields = new Map<string, typeof all>();
    for (const each of all) {
      const field = `${lineOf(each.operation)} ${each.hostile.path.join(".")}`;
      fields.set(field, [...(fields.get(field) ?? []), each]);
    }
    return [...fields.values()].flatMap((values, turn) => rotated(values, turn, 1));
  };

  const askHostile = ({ operation, hostile }: ReturnType<typeof hostiles>[number]) =>
    tenant.ask(lineOf(operation), { json: planted(bodyFor(operation), hostile) });

  it("every route with a body refuses hostile values, names the field and changes nothing [7 422 invalid_request]", async () => {
    const refused = hostiles().filter(({ hostile }) => !hostile.ok);
    expect(refused.length).to.be.above(300);
    const before = await service.deps.store.head();
    for (const each of inTurn(refused)) {
      const what = `${lineOf(each.operation)} ${each.hostile.path.join(".")}: ${each.hostile.what}`;
      const answer = await askHostile(each);
      expectEnvelope(answer, [422], what);
      expect(answer.json.message, what).to.include(each.hostile.path[0]);
    }
    const { rows } = await service.database.query(
      "select type from es.events where position > $1 and metadata -> 'actor' ->> 'kind' = 'api_key'",
      [before],
    );
    expect(rows).to.deep.equal([]);
  });

  it("odd but allowed values in a body cause no server error", async () => {
    for (const each of inTurn(hostiles().filter(({ hostile }) => hostile.ok))) {
      const { status, text } = await askHostile(each);
      expect(status, `${lineOf(each.operation)} ${each.hostile.path}: ${text.slice(0, 300)}`).to.be.below(500);
    }
    for (const path of ["identities", "drafts", "threads", "api-keys"])
      expect((await tenant.ask(`GET /v1/${path}`)).status).to.equal(200);
  });

  it("every route refuses hostile values, repetitions and unknown names in its query", async () => {
    const check = createDocumentCheck(document);
    let turn = 0;
    for (const operation of operations.filter(({ method, scope }) => method === "GET" && scope !== null)) {
      for (const { name, schema } of operation.parameters.filter((each) => each.in === "query")) {
        const hostile = ["%00", "%ed%a0%80", "x", "", "-1", "1e9", "9".repeat(30), "null", "%27", "%0d%0a"];
        for (const value of rotated(hostile, turn++, 2)) {
          const text = new URLSearchParams(`${name}=${value}`).get(name) as string;
          const answer = await tenant.ask(`${lineOf(operation)}?${name}=${value}`);
          if (!text.includes("\0") && check.takes(schema, text)) expect(answer.status, text).to.be.below(500);
          else expectEnvelope(answer, [422], `${operation.path}?${name}=${value}`);
        }
        expectEnvelope(await tenant.ask(`${lineOf(operation)}?${name}=1&${name}=1`), [422], `${name} twice`);
      }
      expectEnvelope(await tenant.ask(`${lineOf(operation)}?unknown=1`), [422, 404], operation.path);
    }
  });

  it("a body is refused for its depth, syntax, type, prototype or size", async () => {
    const post = (body: string, type = "application/json") =>
      fetch(`${service.url}/v1/drafts`, {
        method: "POST",
        headers: { authorization: `Bearer ${tenant.key}`, "content-type": type },
        body,
      });
    const deep = (depth: number) => `{"metadata":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
    for (const [body, type] of [
      [deep(33)],
      [deep(100_000)],
      [`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
      ["{"],
      ["[]"],
      ["null"],
      ['"x"'],
      ["1e999"],
      ["{'a':1}"],
      ['{"__proto__":{"body_text":"x"}}'],
      ['{"metadata":{"__proto__":{}}}'],
      ["{}", "text/plain"],
      ["{}", "application/x-www-form-urlencoded"],
      ["{}", "application/json; charset=latin1"],
    ] as const) {
      const response = await post(body, type);
      const json = (await response.json()) as any;
      expect([response.status, json.error], `${body.slice(0, 40)} ${type}`).to.deep.equal([422, "invalid_request"]);
    }
    expect((await post(`{"a":"${"x".repeat(36 * 1024 * 1024)}"}`)).status).to.equal(413);
    expect((await tenant.ask("GET /v1/workspaces/me")).status).to.equal(200);
  });

  it("a draft's attachment is refused for malformed base64, name, type or an unknown field", async () => {
    const file = { filename: "a.pdf", content_type: "application/pdf", content: "eA==" };
    for (const wrong of [
      { content: "eA=" },
      { content: "e A=" },
      { content: "eA==\n" },
      { content: "=eA=" },
      { content: "e-_=" },
      { content: "data:;base64,eA==" },
      { filename: "a\r\nX: y" },
      { filename: "" },
      { filename: "é".repeat(128) },
      { content_type: "text/html\r\nX: y" },
      { content_type: "multipart/mixed; boundary=x" },
      { content_type: "pdf" },
      { content_type: "" },
      { size: 1 },
    ]) {
      const answer = await tenant.ask("POST /v1/drafts", {
        json: { ...draft(), attachments: [{ ...file, ...wrong }] },
      });
      expectEnvelope(answer, [422], JSON.stringify(wrong));
      expect(answer.json.message).to.include(`attachments[0].${Object.keys(wrong)[0]}`);
    }
  });

  it("a draft is refused that names one recipient twice, in any letter case", async () => {
    for (const extra of [
      { cc: ["ANN@customer.example"] },
      { cc: ["b@x.example"], bcc: ["B@X.EXAMPLE"] },
      { bcc: ["b@x.example", "b@x.example"] },
    ]) {
      expectEnvelope(
        await tenant.ask("POST /v1/drafts", { json: { ...draft(), ...extra } }),
        [422],
        JSON.stringify(extra),
      );
    }
  });

  it("malformed HTTP requests are answered in the error envelope, and the service keeps working", async () => {
    const raw = (text: string) =>
      new Promise<string>((resolve) => {
        const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
        let answer = "";
        socket
          .on("data", (chunk) => {
            answer += chunk;
          })
          .on("close", () => resolve(answer))
          .on("error", () => {});
        socket.write(text);
      });
    const head = `GET /v1/threads HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${tenant.key}\r\n`;
    for (const [text, status] of [
      [`${head}X: ${"y".repeat(100_000)}\r\n\r\n`, 431],
      [`${head}${"X: y\r\n".repeat(50_000)}\r\n`, 431],
      [`${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`, 400],
      [`${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
      [`${head}X : y\r\n\r\n`, 400],
      [`${head}Authorization: Bearer x\r\n\r\n`, 401],
      ["GET /v1/%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 401],
      ["GET /%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404],
    ] as const) {
      const answer = await raw(text);
      expect(answer.slice(0, 12), text.slice(0, 200)).to.equal(`HTTP/1.1 ${status}`);
      expect(answer).to.include('"request_id"').and.not.to.include(".ts:");
    }
    expect((await tenant.ask("GET /v1/threads")).status).to.equal(200);
  });
});
