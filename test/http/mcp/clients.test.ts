import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect } from "chai";
import { request } from "undici";
import { plainSchema } from "#src/http/mcp/input.ts";
import { tools } from "#src/http/mcp/tools/index.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { answerOf, call, connect } from "./client.ts";

/** The official client by its default, which is the newest revision with `initialize`, and in the revision without it. */
const revisions = {
  "2025-11-25": {},
  "2026-07-28": { versionNegotiation: { mode: "auto" } },
} as const satisfies Record<string, ClientOptions>;
const both = Object.entries(revisions);

const either = /^(application\/json|text\/event-stream)$/;
const json = /^application\/json$/;
const stream = /^text\/event-stream$/;

/** Headers of real programs, or forms that RFC 9110 allows, and the forms of answers that each allows. */
const accepts: [accept: string | undefined, allowed: RegExp][] = [
  [undefined, either],
  ["", either],
  ["*/*", either], // curl, fetch
  ["application/json, text/plain, */*", either], // axios
  ["text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", either], // Java's HttpURLConnection
  ["application/json", json],
  ["application/*", json],
  ["Application/JSON; charset=utf-8", json],
  ["application/json, text/event-stream;q=0", json],
  ["text/event-stream", stream],
  ["text/*;q=0.5", stream],
  ["application/json;q=0.0, */*", stream],
];

describe("mcp: clients as they are", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: { id: string; address: string };
  let threadId: string;
  const clients: Client[] = [];

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
    await service.deliver(identity.address, mail({ id: "clients@customer.example" }));
    threadId = (await workspace.ask("GET /v1/threads")).json.data[0].id;
  });
  after(async () => {
    await Promise.all(clients.map((each) => each.close()));
    await service?.stop();
  });

  async function connected(options: ClientOptions = {}, { key = workspace.key, url = service.url } = {}) {
    const client = await connect(url, key, options);
    clients.push(client);
    return client;
  }

  async function draft(): Promise<string> {
    const { messages } = (await workspace.ask(`GET /v1/threads/${threadId}`)).json;
    const ids = { thread_id: threadId, identity_id: identity.id, based_on_message_id: messages.at(-1).id };
    return (await workspace.ask("POST /v1/drafts", { json: { ...ids, body_text: "Soon." } })).json.id;
  }
  const reject = (id: string) => workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });

  const headersOf = (more: Record<string, string> = {}) => ({
    ...{ "Content-Type": "application/json", Authorization: `Bearer ${workspace.key}` },
    Accept: "application/json, text/event-stream",
    ...more,
  });
  /** Sends a message without the official client. */
  const post = (message: object, { url = service.url, headers = {} } = {}) =>
    fetch(new URL("/mcp", url), {
      ...{ method: "POST", headers: headersOf(headers) },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });

  describe("the form of answers", () => {
    /** Connects the official client with another Accept; `types` gets the media type of each answer. */
    async function accepting(accept: string | undefined, options: ClientOptions) {
      const types: string[] = [];
      const send = async (url: string | URL, { method = "GET", headers, body, signal }: RequestInit = {}) => {
        const sent = Object.fromEntries(new Headers(headers));
        delete sent.accept;
        const { statusCode, ...answer } = await request(url, {
          ...{ method: method as "POST", body: body as string, signal: signal ?? undefined },
          headers: { ...sent, ...(accept !== undefined && { accept }) },
        });
        const type = String(answer.headers["content-type"] ?? "").split(";")[0]!;
        if (method === "POST" && statusCode === 200) types.push(type);
        const empty = [202, 204].includes(statusCode);
        if (empty) await answer.body.dump();
        return new Response(empty ? null : (Readable.toWeb(answer.body) as ReadableStream), {
          status: statusCode,
          headers: answer.headers as Record<string, string>,
        });
      };
      const client = new Client({ name: "test", version: "1" }, options);
      const requestInit = { headers: { Authorization: `Bearer ${workspace.key}` } };
      const url = new URL("/mcp", service.url);
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit, fetch: send }));
      clients.push(client);
      return { client, types };
    }

    for (const [revision, options] of both) {
      it(`each Accept that allows JSON or an event stream is answered in a form that it allows (${revision})`, async () => {
        for (const [accept, allowed] of accepts) {
          const { client, types } = await accepting(accept, options);
          expect((await client.listTools()).tools.length, accept).to.be.above(0);
          expect((await call(client, "whoami")).structured.workspace.id, accept).to.equal(workspace.id);
          expect(types.length, accept).to.be.at.least(3);
          for (const type of types) expect(type, accept).to.match(allowed);
        }
      });

      it(`a waiting call whose client takes only JSON, or only a stream, is answered (${revision})`, async () => {
        const id = await draft();
        const waits = ["application/json", "text/event-stream"].map(async (accept) => {
          const { client } = await accepting(accept, options);
          const asked = { name: "wait_for_decision", arguments: { draft_id: id, timeout_seconds: 1 } };
          return answerOf(await client.callTool(asked, { onprogress: () => {} }));
        });
        for (const { structured } of await Promise.all(waits)) expect(structured.timed_out).to.equal(true);
      });
    }

    it("an Accept that allows neither JSON nor a stream, and a subscription as JSON, are 406 and say what to allow", async () => {
      for (const accept of ["text/html", "application/json;q=0", "image/*, text/event-stream; q=0.000"]) {
        const answer = await post({ id: 1, method: "tools/list" }, { headers: { Accept: accept } });
        expect([answer.status, (await answer.json()).error.message], accept).to.deep.equal([
          ...[406, "not acceptable: answers are application/json or text/event-stream: allow one of them in Accept"],
        ]);
      }
      const { client } = await accepting("application/json", revisions["2026-07-28"]);
      const refused = await client
        .listen({ resourceSubscriptions: [`countersign://threads/${threadId}`] })
        .catch(String);
      expect(refused).to.match(/406|not acceptable/i);
    });
  });

  describe("arguments of strict modes, which give every argument", () => {
    const filled = ({ properties }: any, given: object, filler: null | "") => ({
      ...Object.fromEntries(Object.keys(properties).map((name) => [name, filler])),
      ...given,
    });

    for (const filler of [null, ""] as const)
      it(`${JSON.stringify(filler)} of an optional argument counts as absent in every tool that does not revise`, async () => {
        const client = await connected();
        const { tools: listed } = await client.listTools();
        const { messages } = (await workspace.ask(`GET /v1/threads/${threadId}`)).json;
        const [{ id: messageId }] = messages;
        const given: Record<string, object> = {
          whoami: {},
          list_threads: {},
          read_thread: { thread_id: threadId },
          read_attachment: { message_id: messageId, attachment_id: "none" },
          submit_draft: { thread_id: threadId, identity_id: identity.id, based_on_message_id: messageId },
          get_draft: { draft_id: identity.id },
          wait_for_decision: { draft_id: identity.id },
          send_draft: { draft_id: identity.id },
          reply: { thread_id: identity.id, based_on_message_id: messageId },
        };
        const answers: Record<string, string> = {};
        for (const { name, inputSchema } of listed) {
          const args = given[name];
          if (!args) continue;
          const body = name === "submit_draft" || name === "reply" ? { body_text: "Soon." } : {};
          const { text, isError } = await call(client, name, filled(inputSchema, { ...args, ...body }, filler));
          answers[name] = isError ? text.split(":")[0]! : "done";
        }
        const missing = "Error not_found";
        expect(answers).to.deep.equal({
          ...{ whoami: "done", list_threads: "done", read_thread: "done", submit_draft: "done" },
          ...{
            read_attachment: missing,
            get_draft: missing,
            wait_for_decision: missing,
            send_draft: missing,
            reply: missing,
          },
        });
      });

    it("null counts as absent also in place of all arguments or parameters", async () => {
      const params = { name: "whoami", arguments: null, _meta: null };
      const messages = [
        { method: "tools/call", params },
        { method: "tools/list", params: null },
        { method: "tools/list", params: { cursor: null } },
      ];
      for (const message of messages) {
        const answer = await post({ id: 1, ...message }, { headers: { Accept: "application/json" } });
        expect(await answer.json(), JSON.stringify(message)).to.have.property("result");
      }
    });

    it("required arguments do not count as absent, and a draft without any text is refused", async () => {
      const client = await connected();
      const read = await call(client, "read_thread", { thread_id: null });
      expect([read.structured.error, read.structured.field]).to.deep.equal(["invalid_request", "thread_id"]);
      const { messages } = (await workspace.ask(`GET /v1/threads/${threadId}`)).json;
      const ids = { thread_id: threadId, identity_id: identity.id, based_on_message_id: messages[0].id };
      const empty = await call(client, "submit_draft", { ...ids, body_text: "", body_html: null });
      expect(empty.text).to.include("at least one of body_text and body_html");
    });

    it('revise_draft refuses null for all arguments at once, and "" and [] remove what they name', async () => {
      const client = await connected();
      const id = await draft();
      const given = { rationale: "Asked.", subject_override: "Teapots", cc: ["dan@example.com"], body_text: "Now." };
      const revised = await call(client, "revise_draft", { draft_id: id, version: 1, ...given });
      expect(revised.isError, revised.text).to.equal(false);
      const nulls = { body_html: null, cc: null, rationale: null, body_text: "Never." };
      const refused = await call(client, "revise_draft", { draft_id: id, version: 2, ...nulls });
      expect(refused.structured).to.include({ error: "invalid_request", field: "body_html" });
      expect(refused.text).to.include('use "" for body_html, use [] for cc, use "" for rationale');
      const removing = { rationale: "", subject_override: "", cc: [] };
      const removed = await call(client, "revise_draft", { draft_id: id, version: 2, ...removing });
      expect(removed.isError, removed.text).to.equal(false);
      const { json } = await workspace.ask(`GET /v1/drafts/${id}`);
      const { json: thread } = await workspace.ask(`GET /v1/threads/${threadId}`);
      expect(json).to.deep.include({ body_text: "Now.", rationale: null, cc: [], version: 3 });
      expect([revised.structured.draft.untrusted.subject, json.subject]).to.deep.equal(["Teapots", thread.subject]);
    });
  });

  describe("what the service says it can do", () => {
    for (const [revision, options] of both)
      it(`the tools are listed with the plain schemas that every maker of models accepts (${revision})`, async () => {
        const { tools: listed } = await (await connected(options)).listTools();
        const plain = Object.fromEntries(tools.map((tool) => [tool.name, plainSchema(tool.input)]));
        expect(Object.fromEntries(listed.map(({ name, inputSchema }) => [name, inputSchema]))).to.deep.equal(plain);
      });

    it("capabilities are those of the revision in use: subscriptions only in 2026-07-28, and no news of tools", async () => {
      const old = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
      for (const protocolVersion of old) {
        const params = { protocolVersion, capabilities: {}, clientInfo: { name: "old", version: "1" } };
        const answer = await post({ id: 1, method: "initialize", params }, { headers: { Accept: "application/json" } });
        const { result } = await answer.json();
        expect([result.protocolVersion, result.capabilities], protocolVersion).to.deep.equal([
          protocolVersion,
          { tools: { listChanged: false }, resources: { subscribe: false, listChanged: false } },
        ]);
      }
      const modern = await connected(revisions["2026-07-28"]);
      expect(modern.getServerCapabilities()).to.deep.equal({
        tools: { listChanged: false },
        resources: { subscribe: true, listChanged: false },
      });
      const deaf = await workspace.keyOf(["read:threads"]);
      const reader = await connected(revisions["2026-07-28"], { key: deaf });
      expect(reader.getServerCapabilities()?.resources).to.deep.equal({ subscribe: false, listChanged: false });
    });

    it("a subscription to a thread hears of it however its id is written, by the URI that the client wrote", async () => {
      const listener = await connected(revisions["2026-07-28"]);
      const uris = [threadId.toUpperCase(), threadId, threadId.replace(/[a-f]/, (letter) => letter.toUpperCase())];
      const written = [...new Set(uris.map((id) => `countersign://threads/${id}`))];
      const heard = new Set<string>();
      listener.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.add(params.uri));
      await listener.listen({ resourceSubscriptions: written });
      const other = await connected(revisions["2026-07-28"]);
      other.setNotificationHandler("notifications/resources/updated", () => expect.fail("another thread's news"));
      await other.listen({ resourceSubscriptions: [`countersign://threads/${identity.id}`] });
      await until(async () => {
        if (heard.size === 0) await draft();
        return heard.size === written.length;
      });
      expect([...heard].sort()).to.deep.equal(written.sort());
    });
  });

  describe("a waiting call that its client cancels", () => {
    /** Calls wait_for_decision. `begun` resolves once the service waits; `answer` is null if it was cancelled. */
    function waiting(client: Client, draftId: string) {
      const cancel = new AbortController();
      const asked = { name: "wait_for_decision", arguments: { draft_id: draftId, timeout_seconds: 300 } };
      let began = (): void => {};
      const begun = new Promise<void>((resolve) => {
        began = resolve;
      });
      const answer = client.callTool(asked, { signal: cancel.signal, onprogress: () => began() }).then(answerOf);
      const ended = answer.catch((error) => (cancel.signal.aborted ? null : Promise.reject(error)));
      return { begun: Promise.race([begun, ended]), ended, cancel: () => cancel.abort() };
    }
    const placesOfKey = 5;

    for (const [revision, options] of both)
      it(`frees its place at once, so that a key may cancel more calls than it has places (${revision})`, async () => {
        const id = await draft();
        const client = await connected(options, { key: await workspace.keyOf(["read:threads"]) });
        const calls = Array.from({ length: placesOfKey }, () => waiting(client, id));
        await Promise.all(calls.map(({ begun }) => begun));
        for (const each of calls) each.cancel();
        // A notification is a request of its own, which the client does not wait for.
        const next = Array.from({ length: placesOfKey }, async () => {
          let last = waiting(client, id);
          await until(async () => {
            await last.begun;
            const refused = await Promise.race([last.ended, "waits"]);
            if (refused === "waits") return true;
            last = waiting(client, id);
            return false;
          });
          return last;
        });
        const last = await Promise.all(next);
        await reject(id);
        for (const { ended } of last) expect((await ended)?.structured).to.include({ decided: true });
      });

    it("of two clients of a key whose calls have the same id, only the one that cancels is ended", async () => {
      const id = await draft();
      const [one, other] = await Promise.all([connected(), connected()]);
      const [first, second] = [waiting(one, id), waiting(other, id)];
      await Promise.all([first.begun, second.begun]);
      first.cancel();
      expect(await first.ended).to.equal(null);
      // Answered once the notification was handled.
      await call(one, "whoami");
      await reject(id);
      expect((await second.ended)?.structured).to.include({ decided: true });
    });

    type Way = { headers?: Record<string, string>; url?: string };
    const waitBy = (id: number | string, draftId: string, way: Way = {}) => {
      const args = { draft_id: draftId, timeout_seconds: 300 };
      const params = { name: "wait_for_decision", arguments: args, _meta: { progressToken: 1 } };
      return post({ id, method: "tools/call", params }, way);
    };
    const cancelBy = (requestId: unknown, way: Way = {}) =>
      post({ method: "notifications/cancelled", params: { requestId, reason: "stop" } }, way);

    it("a client that keeps no session is ended if its id is the only one, gets no answer, and otherwise goes on", async () => {
      const id = await draft();
      const alone = await waitBy("a", id);
      expect((await cancelBy("a")).status).to.equal(202);
      expect(await alone.text()).to.not.include('"result"');
      const asJson = waitBy(11, id, { headers: { Accept: "application/json" } });
      let answered: Response | undefined;
      void asJson.then((answer) => {
        answered = answer;
      });
      await until(async () => {
        await cancelBy(11);
        return answered !== undefined;
      });
      expect([answered?.status, await answered?.text()]).to.deep.equal([202, ""]);
      const twins = await Promise.all([waitBy(7, id), waitBy(7, id)]);
      const foreign = await post({ id: 8, method: "tools/list" });
      await foreign.text();
      for (const unknown of [7, "7", 8, null, { id: 7 }]) expect((await cancelBy(unknown)).status).to.equal(202);
      await reject(id);
      for (const twin of twins) expect(await twin.text()).to.include('"decided":true');
    });

    it("another key's notification, and another client's, end nothing", async () => {
      const id = await draft();
      const wait = await waitBy(3, id, { headers: { "Mcp-Session-Id": "one" } });
      const { key } = await service.workspace();
      await cancelBy(3, { headers: { "Mcp-Session-Id": "two" } });
      await cancelBy(3);
      await cancelBy(3, { headers: { "Mcp-Session-Id": "one", Authorization: `Bearer ${key}` } });
      await reject(id);
      expect(await wait.text()).to.include('"decided":true');
    });

    it("a notification about an earlier call ends none that has its id later", async () => {
      const id = await draft();
      const headers = { "Mcp-Session-Id": "resumed" };
      await cancelBy(9, { headers });
      await service.database.query(
        "update work.cancelled_calls set cancelled_at = cancelled_at - interval '3 days'",
        [],
      );
      const wait = await waitBy(9, id, { headers });
      await sleep(1_500);
      await reject(id);
      expect(await wait.text()).to.include('"decided":true');
    });

    describe("on another instance", () => {
      let second: SecondInstance;
      before(async () => {
        second = await startSecondInstance(service.urls, { ROLES: "api" });
      });
      after(() => second?.stop());

      it("is ended there by the notification that arrives here", async () => {
        const id = await draft();
        const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "old", version: "1" } };
        const hello = await post({ id: 0, method: "initialize", params }, { headers: { Accept: "application/json" } });
        const headers = { "Mcp-Session-Id": hello.headers.get("mcp-session-id") ?? "" };
        expect(headers["Mcp-Session-Id"]).to.not.equal("");
        await hello.text();
        const [mine, others] = await Promise.all([
          waitBy(1, id, { headers, url: second.url }),
          waitBy(1, id, { headers: { "Mcp-Session-Id": "other" }, url: second.url }),
        ]);
        expect((await cancelBy(1, { headers })).status).to.equal(202);
        expect(await mine.text()).to.not.include('"result"');
        await reject(id);
        expect(await others.text()).to.include('"decided":true');
      });
    });
  });
});
