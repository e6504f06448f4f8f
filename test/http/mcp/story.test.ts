import { readFileSync, writeFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect } from "chai";
import { clientOverBridge, startedBridge } from "#test/support/bridge.ts";
import { type Identity, type InProcess, mail, startInProcess, type Workspace } from "#test/support/inProcess.ts";
import { mcpStory } from "#test/support/mcpStory.ts";
import { commands } from "../../../scripts/commands.ts";

const page = new URL("../../../src/http/docs/story.md", import.meta.url);
const between = /(?<=<!-- story -->\n)[\s\S]*(?=\n<!-- end of story -->)/;

const settingsPage = readFileSync(new URL("../../../src/http/docs/mcp.md", import.meta.url), "utf8");

/** Returns the settings of the server in each client's file, by the heading above it. */
const clientSettings = (): [string, any][] =>
  [...settingsPage.matchAll(/^### (.+)\n(?:(?!^##)[\s\S])*?^```json\n([\s\S]*?)^```/gm)].map(
    ([, title = "", json = ""]) => {
      const { mcpServers, servers } = JSON.parse(json);
      return [title, (mcpServers ?? servers).countersign];
    },
  );

describe("mcp: the documented story, by the official client", () => {
  let service: InProcess;
  let workspace: Workspace;
  before(async () => {
    service = await startInProcess({ RATE_LIMIT_SEND: "30" });
    workspace = await service.workspace();
  });
  after(() => service?.stop());

  async function overHttp(key: string, { url = new URL("/mcp", service.url), authorization = `Bearer ${key}` } = {}) {
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
    const requestInit = { headers: { Authorization: authorization } };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    return client;
  }

  it("the story over HTTP is what its page says (npm run documents -- story writes it)", async () => {
    const told = await mcpStory(service, (key) => overHttp(key));
    const written = readFileSync(page, "utf8");
    if (process.env.WRITE_STORY)
      writeFileSync(
        page,
        written.replace(between, () => told),
      );
    else expect(between.exec(written)?.[0]).to.equal(told);
  });

  it("the story over the stdio bridge is the same, for a client of the older revisions", async () => {
    const told = await mcpStory(service, (key) => clientOverBridge({ url: service.url, key }));
    expect(told).to.equal(between.exec(readFileSync(page, "utf8"))?.[0]);
  });

  it("the documented settings of five clients reach the service", async () => {
    const settings = clientSettings();
    expect(settings.map(([title]) => title)).to.deep.equal([
      ...["Claude Code", "Cursor", "VS Code", "Claude Desktop", "Any other"],
    ]);
    for (const [title, { url, headers, command, args, env }] of settings) {
      if (command !== undefined) {
        expect([command, args], title).to.deep.equal(["node", ["/path/to/countersign/scripts/run.mjs", "mcp"]]);
        expect(Object.keys(env), title).to.deep.equal(["COUNTERSIGN_API_KEY", "COUNTERSIGN_URL"]);
        expect(commands).to.have.property("mcp");
        continue;
      }
      const authorization = headers.Authorization.replace(/\$\{[^}]+\}|svc_live_…/, workspace.key);
      const client = await overHttp("", { url: new URL(new URL(url).pathname, service.url), authorization });
      expect((await client.listTools()).tools.length, title).to.be.above(0);
      await client.close();
    }
  });

  describe("errors of the tools", () => {
    const missing = "00000000-0000-7000-8000-000000000001";
    let identity: Identity;
    let client: Client;
    let draft: any;
    before(async () => {
      identity = await service.identity(workspace.id, { requireHumanApproval: true } as object);
      const id = `errors-${missing.slice(-4)}@customer.example`;
      await service.deliver(identity.address, mail({ id, to: identity.address }));
      const thread = (await workspace.ask("GET /v1/threads")).json.data.find(
        ({ identity_id }: any) => identity_id === identity.id,
      );
      const { json } = await workspace.ask(`GET /v1/threads/${thread.id}`);
      const ids = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: json.messages[0].id };
      draft = (await workspace.ask("POST /v1/drafts", { json: { ...ids, body_text: "Soon." } })).json;
      const key = await workspace.keyOf(["read:threads", "write:drafts", "write:emails"]);
      await service.caughtUp();
      client = await overHttp(key);
    });
    after(() => client?.close());

    async function failed(name: string, given: Record<string, unknown>) {
      const { isError, content, structuredContent } = await client.callTool({ name, arguments: given });
      const { text } = content[0] as { text: string };
      expect(isError, text).to.equal(true);
      return { ...(structuredContent as Record<string, any>), text } as Record<string, any>;
    }

    const cases: [error: string, tool: string, given: () => Record<string, unknown>, says: RegExp][] = [
      ["not_found", "get_draft", () => ({ draft_id: missing }), /ids come from/],
      ["invalid_request", "get_draft", () => ({ draft_id: "mine" }), /draft_id/],
      ["invalid_request", "get_draft", () => ({ draft_id: draft.id, approve: true }), /approve/],
      ["human_approval_required", "send_draft", () => ({ draft_id: draft.id }), /wait_for_decision/],
      ["version_mismatch", "revise_draft", () => ({ draft_id: draft.id, version: 7, body_text: "x" }), /get_draft/],
    ];
    for (const [error, tool, given, says] of cases)
      it(`the error ${error} of ${tool} says what to do next`, async () => {
        const result = await failed(tool, given());
        expect([result.error, result.text.startsWith(`Error ${error}`)]).to.deep.equal([error, true]);
        expect(result.text).to.match(says);
        expect(result).to.include.keys("message", "request_id");
      });

    it("the error rate_limited says how long to wait, and a tool's calls are limited", async () => {
      let result = await failed("send_draft", { draft_id: missing });
      for (let calls = 0; result.error === "not_found" && calls < 70; calls += 1)
        result = await failed("send_draft", { draft_id: missing });
      expect(result.error).to.equal("rate_limited");
      expect(result.retry_after).to.be.within(1, 60);
    });
  });

  describe("the stdio bridge", () => {
    const initialize = {
      ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "plain", version: "1" } },
    };

    it("the bridge returns the service's error, survives a line that is no message, and ends with its client", async () => {
      const bridge = await startedBridge({ url: service.url, key: `svc_live_${"a".repeat(32)}` });
      bridge.say("this is no message");
      bridge.say(initialize);
      const refused = await bridge.hear();
      expect([refused.id, refused.error.code]).to.deep.equal([1, -32_000]);
      expect(refused.error.message).to.match(/^401 unauthorized: /);
      bridge.end();
      expect(await bridge.ended).to.equal(0);
      expect(await bridge.hear()).to.equal(undefined);
      expect(bridge.said()).to.include("401 unauthorized").and.not.include("svc_live_a");
    });

    it("the bridge without a key prints its usage", async () => {
      const bridge = await startedBridge({ url: service.url, key: "" });
      expect([await bridge.ended, await bridge.hear()]).to.deep.equal([1, undefined]);
      expect(bridge.said()).to.include("COUNTERSIGN_API_KEY").and.include("--url");
    });
  });

  it("/llms.txt links the mcp pages, and each of its links works", async () => {
    const response = await fetch(`${service.url}/llms.txt`);
    expect(response.headers.get("content-type")).to.equal("text/plain; charset=utf-8");
    const text = await response.text();
    expect(text).to.match(/^# Countersign\n\n> /);
    const links = [...text.matchAll(/\]\((http:\/\/localhost:8080[^)]+)\)/g)].map(
      ([, link]) => new URL(link as string),
    );
    expect(links.map(({ pathname }) => pathname)).to.include.members(["/docs/mcp", "/docs/story", "/openapi.json"]);
    for (const { pathname } of links) {
      const { status } = await fetch(service.url + pathname);
      expect(status, pathname).to.equal(pathname === "/mcp" ? 401 : 200);
    }
  });
});
