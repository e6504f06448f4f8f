import { expect } from "chai";
import { Reply } from "#src/http/framework/reply.ts";
import { Rejected } from "#streams/decider.ts";
import { narrowKey, rawExchange, serveRoutes, validKey, workspaceId } from "./support.ts";
import { draft, known, missing, routes, useToys } from "./toys.ts";

describe("http framework", () => {
  const toys = useToys();
  const { ask, refused } = toys;

  describe("answers", () => {
    it("an answer is JSON with no-store, strict security headers and the request's id", async () => {
      const answer = await ask("GET /v1/toys");
      expect(answer.status).to.equal(200);
      expect(answer.headers.get("content-type")).to.equal("application/json; charset=utf-8");
      expect(answer.headers.get("cache-control")).to.equal("no-store");
      expect(answer.headers.get("content-security-policy")).to.equal("default-src 'none';frame-ancestors 'none'");
      expect(answer.headers.get("x-powered-by")).to.equal(null);
      expect(answer.headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/);
    });

    it("an answer repeats a well-formed X-Request-Id and replaces any other", async () => {
      expect(
        (await ask("GET /v1/open", { headers: { "X-Request-Id": "abc-123" } })).headers.get("x-request-id"),
      ).to.equal("abc-123");
      for (const insane of ["x".repeat(129), "a b", "<script>", "ä"]) {
        expect(
          (await ask("GET /v1/open", { headers: { "X-Request-Id": insane } })).headers.get("x-request-id"),
        ).to.match(/^[0-9a-f-]{36}$/);
      }
    });

    it("a route's handler gets the actor, the cause and the loaded resource", async () => {
      const { json } = await ask(`GET /v1/toys/${known.toUpperCase()}`, {
        headers: { "X-Request-Id": "r1", "User-Agent": "agent/1" },
      });
      expect(json.seen.loaded).to.deep.equal({ version: 3 });
      expect(json.seen.actor).to.include({ kind: "api_key", name: "agent", userAgent: "agent/1", requestId: "r1" });
      expect(json.seen.cause.workspaceId).to.equal(workspaceId);
    });

    it("an answer has its route's status, and bytes are sent unchanged", async () => {
      expect((await ask("POST /v1/drafts", { json: draft })).status).to.equal(201);
      const raw = await fetch(`${toys.service.url}/v1/raw`, { headers: { Authorization: `Bearer ${validKey}` } });
      expect(raw.headers.get("content-type")).to.equal("message/rfc822");
      expect([...new Uint8Array(await raw.arrayBuffer())]).to.deep.equal([1, 2, 255]);
    });

    it("an answer with an undocumented field becomes a 500 under test, and the field is logged", async () => {
      await refused("GET /v1/undocumented", {}, [500, "internal_error"]);
      expect(JSON.stringify(toys.service.logs)).to.contain("password: unknown field");
    });

    it("an answer with an undocumented status or error becomes a 500 under test, and is logged", async () => {
      await refused("GET /v1/undocumented-error", {}, [500, "internal_error"]);
      expect(JSON.stringify(toys.service.logs)).to.contain(
        "answered 422 invalid_status, which its route does not list among its errors",
      );
      await refused("GET /v1/undocumented-status", {}, [500, "internal_error"]);
      expect(JSON.stringify(toys.service.logs)).to.contain("answered 202; its route says 200");
    });

    it("an answer about a resource that was deleted meanwhile is 404", async () => {
      await refused(`PATCH /v1/gone/${known}`, {}, [404, "not_found"]);
    });

    it("an answer that cannot be serialised becomes a 500", async () => {
      for (const what of ["nothing", "bigint", "header"])
        await refused(`GET /v1/unwritable/${what}`, {}, [500, "internal_error"]);
    });

    it("HEAD is answered like GET, without a body", async () => {
      const answer = await ask("HEAD /v1/toys");
      expect([answer.status, answer.text]).to.deep.equal([200, ""]);
    });
  });

  describe("API keys", () => {
    const wrong: Record<string, string | undefined> = {
      none: undefined,
      empty: "",
      "another scheme": `Basic ${validKey}`,
      bare: validKey,
      short: `Bearer ${validKey.slice(0, -1)}`,
      long: `Bearer ${validKey}x`,
      unknown: `Bearer svc_live_${"z".repeat(32)}`,
      "wrong case": `Bearer ${validKey.toUpperCase()}`,
      "other letters": `Bearer svc_live_${"é".repeat(32)}`,
      "two in one": `Bearer ${validKey}, Bearer ${validKey}`,
      oversized: `Bearer svc_live_${"a".repeat(8000)}`,
    };

    it("a missing, malformed, unknown or too long API key gets the same 401 [5 Authorization header] [5 401 unauthorized] [7 401 unauthorized]", async () => {
      const bodies = new Set<string>();
      for (const [what, header] of Object.entries(wrong)) {
        const answer = await ask("GET /v1/toys", {
          key: null,
          headers: { "X-Request-Id": "same", ...(header === undefined ? {} : { Authorization: header }) },
        });
        expect(answer.status, what).to.equal(401);
        expect(answer.headers.get("www-authenticate")).to.equal("Bearer");
        bodies.add(answer.text);
      }
      expect(bodies.size).to.equal(1);
    });

    it("two Authorization headers are answered 401, and a header with a NUL is answered 400", async () => {
      const header = `Authorization: Bearer ${validKey}\r\n`;
      const twice = await rawExchange(
        toys.service.port,
        `GET /v1/toys HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}${header}\r\n`,
      );
      expect(twice).to.match(/^HTTP\/1.1 401 /);
      const withNul = await rawExchange(
        toys.service.port,
        `GET /v1/toys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer svc_live_\0\r\n\r\n`,
      );
      expect(withNul).to.match(/^HTTP\/1.1 400 [\s\S]*"error":"invalid_request"/);
    });

    it("an API key without the route's scope gets insufficient_scope [7 401 insufficient_scope]", async () => {
      const { message } = await refused("GET /v1/toys", { key: narrowKey }, [401, "insufficient_scope"]);
      expect(message).to.contain("read:threads");
    });
  });

  describe("order of checks", () => {
    const bad = { headers: { "Content-Type": "text/plain" }, body: "{" };

    it("a request's key is checked first, then scope, path, query and body, and If-Match last", async () => {
      await refused(`POST /v1/toys/none/paint?x=1`, { ...bad, key: null }, [401, "unauthorized"]);
      await refused(`POST /v1/toys/none/paint?x=1`, { ...bad, key: narrowKey }, [401, "insufficient_scope"]);
      await refused(`POST /v1/toys/none/paint?x=1`, bad, [404, "not_found"]);
      await refused(`POST /v1/toys/${known}/paint?x=1`, bad, [422, "invalid_request"]);
      await refused(`POST /v1/toys/${known}/paint`, { json: { color: 1 }, headers: { "If-Match": 'W/"3"' } }, [
        422,
        "invalid_request",
      ]);
      await refused(`POST /v1/toys/${known}/paint`, { json: { color: "red" }, headers: { "If-Match": 'W/"3"' } }, [
        412,
        "version_mismatch",
      ]);
    });

    it("every authenticated request is counted, and its 401 takes precedence over 429 [7 429 rate_limited]", async () => {
      const counted: string[] = [];
      const limited = await serveRoutes(routes, {
        limits: async (limit, { key }) => {
          counted.push(`${limit} ${key?.name}`);
          throw new Rejected("rate_limited", "too many requests", { retryAfter: 7 });
        },
      });
      const scope = await limited.ask("GET /v1/toys", { key: narrowKey });
      const rate = await limited.ask("GET /v1/toys?bad=1");
      const nowhere = await limited.ask("POST /v1/nowhere");
      const nobody = await limited.ask("GET /v1/toys", { key: null });
      await limited.close();
      expect([scope.json.error, rate.json.error, nowhere.json.error, nobody.json.error]).to.deep.equal([
        "insufficient_scope",
        "rate_limited",
        "rate_limited",
        "unauthorized",
      ]);
      expect(rate.headers.get("retry-after")).to.equal("7");
      expect(counted).to.deep.equal(["read narrow", "read agent", "write agent"]);
    });

    it("a malformed id in a path gets the same 404 as an unknown id", async () => {
      const fixed = { "X-Request-Id": "same" };
      const answers = await Promise.all(
        [missing, "not-a-uuid", "%00", "%E0%A4", "..%2f..", `urn:uuid:${known}`, "x".repeat(4000)].map((id) =>
          ask(`GET /v1/toys/${id}`, { headers: fixed }),
        ),
      );
      for (const answer of answers) expect(answer.status).to.equal(404);
      const bodies = new Set(answers.filter((_, index) => index !== 3).map(({ text }) => text));
      expect(bodies.size).to.equal(1);
    });
  });

  describe("unknown routes", () => {
    it("an unknown route, a wrong method, another spelling and OPTIONS are answered 404", async () => {
      for (const line of [
        "GET /v1/nowhere",
        "PUT /v1/toys",
        "OPTIONS /v1/toys",
        "GET /v1/TOYS",
        "GET /v1/toys/",
        "TRACE /v1/toys",
        "POST /v1/toys",
        "GET /nowhere",
        "GET /",
        "GET /v1",
        "GET /v1/%E0%A4",
      ]) {
        if (line.startsWith("TRACE")) continue; // fetch refuses TRACE; it is sent by socket below
        await refused(line, {}, [404, "not_found"]);
      }
      const trace = await rawExchange(
        toys.service.port,
        `TRACE /v1/toys HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${validKey}\r\n\r\n`,
      );
      expect(trace)
        .to.match(/^HTTP\/1.1 404 /)
        .and.not.contain(validKey);
    });

    it("an unknown route under /v1 is answered 401 without a key, elsewhere 404", async () => {
      await refused("GET /v1/nowhere", { key: null }, [401, "unauthorized"]);
      await refused("GET /nowhere", { key: null }, [404, "not_found"]);
    });
  });

  describe("queries", () => {
    it("query parameters are converted to their types and filled with their defaults", async () => {
      const { json } = await ask(`GET /v1/toys?flag=true&limit=100&q=a%20b&kind=a&owner=${known.toUpperCase()}`);
      expect(json.seen).to.deep.equal({ flag: true, limit: 100, offset: 0, q: "a b", kind: "a", owner: known });
      expect((await ask("GET /v1/toys?")).json.seen).to.deep.equal({ limit: 20, offset: 0 });
    });

    it("a + in a query parameter's time zone offset is accepted unescaped", async () => {
      for (const given of ["2026-01-01T10:00:00+02:00", "2026-01-01T10:00:00%2B02:00", "2026-01-01T10:00:00-02:00"]) {
        const { json } = await ask(`GET /v1/toys?since=${given}`);
        expect(json.seen.since).to.equal(given.replace("%2B", "+"));
      }
      await refused("GET /v1/toys?since=2026-01-01+10:00:00", {}, [422, "invalid_request"]);
    });

    for (const [query, names] of [
      ["limt=5", "limt: unknown query parameter: expected flag, q, owner, kind, since, limit, offset, cursor"],
      ["limit=0", "limit: expected an integer from 1 to 100"],
      ["limit=101", "limit"],
      ["limit=1.5", "limit"],
      ["limit=1e1", "limit"],
      ["limit=0x10", "limit"],
      ["limit=%201", "limit"],
      ["limit=", "limit"],
      ["limit=9999999999999999999", "limit"],
      ["limit=1&limit=2", "limit: expected this query parameter only once"],
      ["offset=-1", "offset: expected an integer from 0 to 10000"],
      ["offset=10001", "offset: expected an integer from 0 to 10000; to go further, pass the next_cursor"],
      ["flag=1", "flag: expected true or false"],
      ["kind=c", "kind: expected one of a, b"],
      ["owner=x", "owner: expected a UUID"],
      ["q=%00", "q: expected text without NUL"],
      [`q=${"é".repeat(6)}`, "q: expected a string of at most 10 bytes"],
      ["__proto__=1", "__proto__"],
      ["limit[a]=1", "limit[a]"],
      ["constructor=1", "constructor"],
    ]) {
      it(`the query ?${query!.slice(0, 30)} is refused with 422, and the message names the parameter`, async () => {
        expect((await refused(`GET /v1/toys?${query}`, {}, [422, "invalid_request"])).message).to.contain(names);
      });
    }
  });

  describe("headers", () => {
    it("a resource's version is its ETag, and If-Match requires that version", async () => {
      expect((await ask(`GET /v1/toys/${known}`)).headers.get("etag")).to.equal('"3"');
      const paint = async (tag: string) =>
        ask(`POST /v1/toys/${known}/paint`, { json: { color: "red" }, headers: { "If-Match": tag } });
      expect((await paint('"3"')).json.seen.ifMatch).to.equal(3);
      expect((await paint("*")).json.seen.ifMatch).to.equal(null);
      for (const tag of ['W/"3"', '"abc"', '"0"', '""'])
        expect([(await paint(tag)).status, tag]).to.deep.equal([412, tag]);
      for (const tag of ["3", '"1", "2"', '"']) expect([(await paint(tag)).status, tag]).to.deep.equal([422, tag]);
    });

    it("an Idempotency-Key of 1 to 255 characters is accepted, and any other is refused with 422", async () => {
      const seen: string[] = [];
      let first: Reply | undefined;
      const idempotent = await serveRoutes(routes, {
        idempotency: async ({ idempotencyKey }, run) => {
          seen.push(idempotencyKey);
          if (first) return new Reply(first.content, 201, { "X-Replayed": "yes" });
          first = await run();
          return first;
        },
      });
      const post = (key: string) =>
        idempotent.ask("POST /v1/drafts", { json: draft, headers: { "Idempotency-Key": key } });
      const answers = [await post("k".repeat(255)), await post("k"), await post("k".repeat(256)), await post("")];
      await idempotent.close();
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 201, 422, 422]);
      expect(answers.map(({ headers }) => headers.get("x-replayed"))).to.deep.equal([null, "yes", null, null]);
      expect(answers[1]?.json).to.deep.equal(answers[0]?.json);
      expect(seen).to.have.length(2);
    });
  });

  describe("failures", () => {
    it("a refusal has only its documented fields, such as upgrade_url and Retry-After [7 envelope] [8 402 upgrade_url]", async () => {
      const stale = await refused("GET /v1/fails/stale", {}, [409, "stale_draft"]);
      expect(stale).to.have.keys("error", "message", "request_id", "new_message_id");
      await refused("GET /v1/fails/taken", {}, [409, "invalid_request"]);
      expect((await refused("GET /v1/fails/quota", {}, [402, "plan_limit_reached"])).upgrade_url).to.equal(
        "https://example.com/upgrade",
      );
      expect((await ask("GET /v1/fails/throttled")).headers.get("retry-after")).to.equal("42");
      expect(await refused("GET /v1/fails/lagging", {}, [503, "unavailable"])).to.include({
        recorded: true,
        id: known,
      });
      expect((await ask("GET /v1/fails/away")).headers.get("retry-after")).to.match(/^\d+$/);
    });

    it("an internal error is answered without its details, and logged in full", async () => {
      const { message } = await refused("GET /v1/fails/bug", { headers: { "X-Request-Id": "bug-1" } }, [
        500,
        "internal_error",
      ]);
      expect(message).not.to.contain("secret");
      expect((await refused("GET /v1/fails/away", {}, [503, "unavailable"])).message).not.to.contain("10.0.0.7");
      await refused("GET /v1/fails/nonsense", {}, [500, "internal_error"]);
      expect(JSON.stringify(toys.service.logs.filter((line) => JSON.stringify(line).includes("bug-1")))).to.contain(
        "/srv/secret.ts",
      );
    });

    it("API keys, bodies, queries and approval tokens are never logged", async () => {
      await ask("GET /v1/toys?q=topsecret");
      await ask("POST /v1/drafts", { json: { ...draft, body_text: "confidential", unknown: "confidential" } });
      await ask("GET /a/token-of-an-approval");
      const logged = JSON.stringify(toys.service.logs);
      for (const secret of ["topsecret", "confidential", validKey, "token-of-an-approval"])
        expect(logged).not.to.contain(secret);
      expect(logged).to.contain("/v1/toys");
    });
  });
});
