import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect } from "chai";
import express from "express";
import type { HttpDependencies } from "#src/http/dependencies.ts";
import { NotReadable } from "#src/http/framework/errors.ts";
import { unauthorized } from "#src/http/framework/keys/authenticate.ts";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";
import { listen } from "#src/http/framework/server.ts";
import type { McpRequest } from "#src/http/mcp/request.ts";
import { createResourceUpdates, type McpRequests, threadUri } from "#src/http/mcp/resourceUpdates.ts";
import { type McpOptions, mcpRouter } from "#src/http/mcp/router.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";

describe("mcp: access", () => {
  let service: InProcess;
  let workspace: Workspace;
  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
  });
  after(() => service?.stop());

  async function clientOf(key: string): Promise<Client> {
    const client = new Client({ name: "test", version: "1" });
    const headers = { Authorization: `Bearer ${key}` };
    await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", service.url), { requestInit: { headers } }));
    return client;
  }

  it("mcp offers the tools that the key's scopes allow, and answers for the key's workspace", async () => {
    const client = await clientOf(workspace.key);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).to.include("whoami");
    const result = await client.callTool({ name: "whoami", arguments: {} });
    expect(result.isError ?? false).to.equal(false);
    expect((result.structuredContent as any).workspace.id).to.equal(workspace.id);
    await client.close();
    const narrowKey = await workspace.keyOf(["read:threads"]);
    await service.caughtUp();
    const narrow = await clientOf(narrowKey);
    expect((await narrow.listTools()).tools.map(({ name }) => name)).to.not.include("whoami");
    await narrow.close();
  });

  it("mcp answers 503 to any key while keys cannot be looked up", async () => {
    let asked: readonly string[] = [];
    const options = {
      deps: {
        ...service.deps,
        requireReadable(of: readonly string[]) {
          asked = of;
          throw new NotReadable("the read model apiKeys is being rebuilt");
        },
      },
      authenticate: async () => {
        throw unauthorized();
      },
      publicUrl: "http://localhost",
      onError: (error: unknown) => expect.fail(String(error)),
    } as unknown as McpOptions;
    const server = await listen(express().use(mcpRouter(options)), { host: "127.0.0.1", port: 0 });
    const answer = await fetch(new URL("/mcp", server.url), { method: "POST", headers: { Authorization: "Bearer x" } });
    expect([answer.status, (await answer.json()).error, answer.headers.get("retry-after"), asked]).to.deep.equal([
      ...[503, "unavailable", "5"],
      ["apiKeys"],
    ]);
    await server.close();
  });

  it("mcp refuses a key that was revoked elsewhere while this instance was suspended", async () => {
    const inFlight = createRequestsInFlight();
    const options = {
      deps: { ...service.deps, requireReadable: () => {} },
      ...{ inFlight, tools: [], publicUrl: "http://localhost" },
      authenticate: async () => ({ kind: "api_key", id: "key-1", workspaceId: workspace.id, name: "key", scopes: [] }),
      limits: async () => {},
      upToDate: () => inFlight.revoke("key-1"),
      onError: (error: unknown) => expect.fail(String(error)),
    } as unknown as McpOptions;
    const server = await listen(express().use(mcpRouter(options)), { host: "127.0.0.1", port: 0 });
    const answer = await fetch(new URL("/mcp", server.url), {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect([answer.status, (await answer.json()).error]).to.deep.equal([401, "unauthorized"]);
    await server.close();
  });

  it("mcp sends no news to a key that was revoked elsewhere while this instance was suspended", async () => {
    const requests: McpRequests = new AsyncLocalStorage();
    const place = { position: 1, part: 0 };
    const ended = new AbortController();
    const threadId = randomUUID();
    const feed = { position: 2, part: 0, type: "email.received", data: { thread_id: threadId } };
    const deps = {
      reads: { of: () => ({ query: async () => ({ rows: [feed] }) }) },
      feedTail: { next: () => new Promise((resolve) => setTimeout(resolve, 20, place)) },
      closing: ended.signal,
    } as unknown as HttpDependencies;
    const heard: unknown[] = [];
    const asked = new Promise<void>((resolve) => {
      const incoming = {
        key: { workspaceId: workspace.id, scopes: ["read:threads", "read:events"] },
        subscribed: [threadUri(threadId)],
        signal: ended.signal,
        async requireLive() {
          ended.abort();
          resolve();
          throw unauthorized();
        },
      } as unknown as McpRequest;
      const news = createResourceUpdates(deps, requests, (error) => expect.fail(String(error)));
      requests.run(incoming, () => news.subscribe((event) => void heard.push(event)));
      // The notification is sent without a request.
      setTimeout(resolve, 200);
    });
    await asked;
    ended.abort();
    expect(heard).to.deep.equal([]);
  });

  it("mcp refuses a request without a key, and a request from a page of another origin", async () => {
    const post = (headers: Record<string, string>) =>
      fetch(new URL("/mcp", service.url), {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      });
    const without = await post({});
    expect([without.status, (await without.json()).error]).to.deep.equal([401, "unauthorized"]);
    const foreign = await post({ Authorization: `Bearer ${workspace.key}`, Origin: "https://evil.example" });
    expect(foreign.status).to.equal(401);
    const own = await post({ Authorization: `Bearer ${workspace.key}` });
    expect(own.status).to.equal(200);
    await own.text();
  });
});
