import { connect } from "node:net";
import { expect } from "chai";
import { hostileBodies, type Operation, operationsOf, planted } from "#test/support/hostileRequests.ts";
import { type Answer, type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";

/** Every route of the OpenAPI document, asked for what it must refuse. */
describe("attacks by request", function () {
  this.timeout(120_000);
  let service: InProcess;
  let tenant: Awaited<ReturnType<InProcess["workspace"]>>;
  let stranger: Awaited<ReturnType<InProcess["workspace"]>>;
  let operations: Operation[];
  let ids: Record<string, string>;
  /** A body that each route takes. */
  let bodies: Record<string, any>;

  before(async () => {
    service = await startInProcess();
    [tenant, stranger] = await Promise.all([service.workspace(), service.workspace()]);
    operations = operationsOf((await tenant.ask("GET /openapi.json")).json);
    const identity = await service.identity(tenant.id, {
      approvalChannel: { type: "email", config: { to: "boss@example.com" } },
    });
    await service.deliver(identity.address, mail({ id: "q@customer.example", to: identity.address }));
    const thread = (await tenant.ask("GET /v1/threads")).json.data[0].id;
    const message = (await tenant.ask(`GET /v1/threads/${thread}`)).json.messages[0].id;
    const draft = { thread_id: thread, identity_id: identity.id, based_on_message_id: message, body_text: "x" };
    const { id: draftId } = (await tenant.ask("POST /v1/drafts", { json: draft })).json;
    const inbound = (await tenant.ask("GET /v1/inbound")).json.data[0].id;
    const domain = (await tenant.ask("GET /v1/domains")).json.data[0].id;
    const { id: key } = (await tenant.ask("POST /v1/api-keys", { json: { name: "k" } })).json;
    ids = { identity: identity.id, thread, message, draft: draftId, inbound, domain, key };
    bodies = {
      "POST /v1/drafts": draft,
      "POST /v1/identities": { domain_id: domain, local_part: "other", display_name: "Other" },
      "POST /v1/api-keys": { name: "k" },
    };
  });

  after(() => service.stop());

  /** The id that a path's parameter means. */
  const idFor = (path: string): string => {
    const noun = /\/v1\/(\w+?)(?:ie)?s\/|\/v1\/api-(key)s\/|\/v1\/(inbound)\//.exec(path)?.slice(1).find(Boolean);
    return (ids[noun === "identit" ? "identity" : (noun ?? "")] ??
      ids[/identities/.test(path) ? "identity" : "key"]) as string;
  };
  const filled = (path: string, id = idFor(path)) => {
    let first = true;
    return path.replace(/\{\w+\}/g, () => {
      const value = first ? id : "00000000-0000-7000-8000-000000000000";
      first = false;
      return value;
    });
  };
  const lineOf = ({ method, path }: Operation, id?: string) => `${method} ${filled(path, id)}`;
  const withPath = () => operations.filter(({ path, scope }) => scope !== null && path.includes("{"));

  const expectEnvelope = ({ status, json, text }: Answer, statuses: number[], what: string) => {
    expect(statuses, `${what}: ${status} ${text.slice(0, 300)}`).to.include(status);
    expect(json, what).to.include.keys("error", "message", "request_id");
    expect(text, what).not.to.match(/\.ts:|node_modules| at Object|SELECT|select /);
  };

  const hostiles = () =>
    operations
      .filter(({ body }) => body !== null)
      .flatMap((operation) => hostileBodies(operation.body!).map((hostile) => ({ operation, hostile })));

  const askHostile = ({ operation, hostile }: ReturnType<typeof hostiles>[number]) =>
    tenant.ask(lineOf(operation), {
      json: planted(bodies[`${operation.method} ${operation.path}`] ?? {}, hostile),
    });

  it("names the field of every hostile value, on every route with a body, and does nothing", async () => {
    const notified = async () =>
      (await tenant.ask(`GET /v1/drafts/${ids.draft}`)).json.notification_status.state === "sent";
    await until(notified);
    const refused = hostiles().filter(({ hostile }) => !hostile.ok);
    expect(refused.length).to.be.above(300);
    const before = await service.deps.store.head();
    for (const each of refused) {
      const what = `${lineOf(each.operation)} ${each.hostile.path.join(".")}: ${each.hostile.what}`;
      const answer = await askHostile(each);
      expectEnvelope(answer, [422], what);
      expect(answer.json.message, what).to.include(each.hostile.path[0]);
    }
    expect(await service.deps.store.head()).to.equal(before);
  });

  it("takes odd but allowed values without harm", async () => {
    for (const each of hostiles().filter(({ hostile }) => hostile.ok)) {
      const { status, text } = await askHostile(each);
      expect(status, `${lineOf(each.operation)} ${each.hostile.path}: ${text.slice(0, 300)}`).to.be.below(500);
    }
    for (const path of ["identities", "drafts", "threads", "api-keys"])
      expect((await tenant.ask(`GET /v1/${path}`)).status).to.equal(200);
  });

  it("refuses hostile queries and filters", async () => {
    for (const operation of operations.filter(({ method, scope }) => method === "GET" && scope !== null)) {
      for (const { name, schema } of operation.parameters.filter((each) => each.in === "query")) {
        const values = [
          "%00",
          "%ed%a0%80",
          ...(schema.type === "string" && !schema.format && !schema.enum
            ? []
            : ["x", "", "-1", "1e9", "9".repeat(30), "null", "%27"]),
        ];
        for (const value of values) {
          const answer = await tenant.ask(`${lineOf(operation)}?${name}=${value}`);
          if (value === "%ed%a0%80" && answer.status === 200) continue;
          expectEnvelope(answer, [422], `${operation.path}?${name}=${value}`);
        }
        expectEnvelope(await tenant.ask(`${lineOf(operation)}?${name}=1&${name}=1`), [422], `${name} twice`);
      }
      expectEnvelope(await tenant.ask(`${lineOf(operation)}?unknown=1`), [422, 404], operation.path);
    }
  });

  it("takes a body for what it is: depth, syntax, type, prototype, size", async () => {
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

  it("lets no attachment in that is not what it says", async () => {
    const draft = bodies["POST /v1/drafts"];
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
      const answer = await tenant.ask("POST /v1/drafts", { json: { ...draft, attachments: [{ ...file, ...wrong }] } });
      expectEnvelope(answer, [422], JSON.stringify(wrong));
      expect(answer.json.message).to.include(`attachments[0].${Object.keys(wrong)[0]}`);
    }
  });

  it("takes no address twice, however it is written", async () => {
    const draft = bodies["POST /v1/drafts"];
    for (const extra of [
      { cc: ["ANN@customer.example"] },
      { cc: ["b@x.example"], bcc: ["B@X.EXAMPLE"] },
      { bcc: ["b@x.example", "b@x.example"] },
    ]) {
      expectEnvelope(
        await tenant.ask("POST /v1/drafts", { json: { ...draft, ...extra } }),
        [422],
        JSON.stringify(extra),
      );
    }
  });

  it("answers for another workspace's ids as for ids of nothing, in paths, bodies and filters", async () => {
    const nothing = "00000000-0000-7000-8000-000000000001";
    const shape = ({ status, json }: Answer) => [status, { ...json, request_id: "" }];
    for (const operation of withPath()) {
      const body = bodies[`${operation.method} ${operation.path}`] ?? (operation.body ? {} : undefined);
      const [foreign, unknown, none] = await Promise.all(
        [idFor(operation.path), nothing, "no-uuid"].map((id) => stranger.ask(lineOf(operation, id), { json: body })),
      );
      expect(shape(foreign!), lineOf(operation)).to.deep.equal(shape(unknown!));
      expect(shape(none!), lineOf(operation)).to.deep.equal(shape(unknown!));
      expect(foreign!.status, lineOf(operation)).to.equal(404);
    }
    const own = await service.identity(stranger.id);
    await service.deliver(own.address, mail({ id: "own@customer.example", to: own.address }));
    const thread = (await stranger.ask("GET /v1/threads")).json.data[0].id;
    const message = (await stranger.ask(`GET /v1/threads/${thread}`)).json.messages[0].id;
    const draft = { thread_id: thread, identity_id: own.id, based_on_message_id: message, body_text: "x" };
    for (const [field, noun] of [
      ["thread_id", "thread"],
      ["identity_id", "identity"],
      ["based_on_message_id", "message"],
    ] as const) {
      const [foreign, unknown] = await Promise.all(
        [ids[noun], nothing].map((id) => stranger.ask("POST /v1/drafts", { json: { ...draft, [field]: id } })),
      );
      expect(shape(foreign!)).to.deep.equal(shape(unknown!));
      expect([foreign!.status, foreign!.json.message]).to.deep.equal([404, `${field}: no such ${noun}`]);
    }
    for (const operation of operations.filter(
      ({ method, scope, path }) => method === "GET" && scope && !path.includes("{"),
    )) {
      for (const { name } of operation.parameters.filter(({ schema }) => schema.format === "uuid")) {
        const answer = await stranger.ask(`GET ${operation.path}?${name}=${ids[name.replace(/_id$/, "")]}`);
        expect([operation.path, answer.json?.total, answer.json?.data]).to.deep.equal([operation.path, 0, []]);
      }
    }
  });

  it("lets each scope do its own routes and no other, and dead or malformed keys nothing", async () => {
    const scopes = [
      ...new Set(operations.map(({ scope }) => scope).filter((scope) => scope !== null && scope !== "any")),
    ] as string[];
    for (const scope of scopes) {
      const key = await tenant.keyOf([scope]);
      await service.caughtUp();
      for (const operation of operations.filter((each) => each.scope !== null && each.scope !== "any")) {
        const { status, json } = await tenant.ask(lineOf(operation, "00000000-0000-7000-8000-000000000002"), {
          key,
          json: operation.body || operation.method === "POST" ? { nothing: 1 } : undefined,
        });
        expect(json?.error === "insufficient_scope", `${scope} at ${lineOf(operation)}: ${status}`).to.equal(
          operation.scope !== scope,
        );
        expect(status).to.be.below(500);
      }
    }
    const { key: dead, id } = (await tenant.ask("POST /v1/api-keys", { json: { name: "dead" } })).json;
    await tenant.ask(`DELETE /v1/api-keys/${id}`);
    for (const key of [
      dead,
      "",
      "x",
      `svc_live_${"a".repeat(31)}`,
      `svc_live_${"a".repeat(33)}`,
      `svc_live_${"é".repeat(32)}`,
      tenant.key.toUpperCase(),
      `${tenant.key} `.repeat(2),
      `${tenant.key.slice(0, -1)}!`,
    ]) {
      for (const line of ["GET /v1/threads", "GET /v1/nowhere", "POST /v1/drafts"]) {
        const response = await fetch(service.url + line.split(" ")[1], {
          method: line.split(" ")[0]!,
          headers: { authorization: encodeURI(`Bearer ${key}`).replaceAll("%20", " ") },
        });
        expect([response.status, ((await response.json()) as any).error], key).to.deep.equal([401, "unauthorized"]);
      }
    }
  });

  it("answers requests that are hardly HTTP, in the envelope, and stays up", async () => {
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
        socket.end(text);
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
      ["GET /%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404],
    ] as const) {
      const answer = await raw(text);
      expect(answer.slice(0, 12), text.slice(0, 200)).to.equal(`HTTP/1.1 ${status}`);
      expect(answer).to.include('"request_id"').and.not.to.include(".ts:");
    }
    expect((await tenant.ask("GET /v1/threads")).status).to.equal(200);
  });
});
