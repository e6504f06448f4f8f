import { expect } from "chai";
import { httpDependencies } from "#src/http/dependencies.ts";
import type { RouteCall } from "#src/http/framework/inProcess.ts";
import { allScopes, type Scope } from "#src/http/framework/keys/scopes.ts";
import type { RouteLine } from "#src/http/framework/route.ts";
import type { Tool, ToolCall } from "#src/http/mcp/tool.ts";
import { tools } from "#src/http/mcp/tools/index.ts";
import { asking } from "#test/support/asking.ts";
import { makeTenant, nounOfField, type Tenant, webhookHost } from "#test/support/examples/world.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";
import { realDocument, realRoutes } from "#test/support/realRoutes.ts";

type Json = Record<string, any>;

const missing = "00000000-0000-7000-8000-000000000001";
const isId = (name: string) => name.endsWith("_id");

/** Returns a tool's arguments: all required ones and every id that it takes, those of a tenant except the given ones. */
function argumentsOf({ input }: Tool, { ids }: Tenant, others: Json = {}): Json {
  const properties = Object.entries(input.properties as Json);
  const filled = properties.flatMap(([name, { type, default: usual }]) => {
    if (isId(name)) return [[name, ids[nounOfField(name)]]];
    if (name === "timeout_seconds") return [[name, 1]];
    if (name === "body_text" || name === "rationale") return [[name, "It arrives tomorrow."]];
    if (name === "version") return [[name, 1]];
    return usual === undefined || type === "object" ? [] : [[name, usual]];
  });
  return { ...Object.fromEntries(filled), ...others };
}

/** Calls every tool with every scope and every id. The tools are those that `tools` declares, so that none can be left out. */
describe("mcp: tools × scopes × foreign ids", () => {
  let service: InProcess;
  let tenant: Tenant;
  let stranger: Tenant;
  let keyOf: (scopes: readonly string[]) => Promise<string>;
  const asked = { listed: 0, hidden: 0, foreign: 0 };

  before(async () => {
    service = await startInProcess({ WEBHOOK_ALLOWED_HOSTS: webhookHost });
    const workspace = await service.workspace();
    keyOf = workspace.keyOf;
    const document = realDocument();
    tenant = await makeTenant(service, document);
    stranger = await makeTenant({ ...service, workspace: async () => workspace }, document);
  });
  after(async () => {
    await service?.stop();
    console.log(`      ${asked.listed} lists, ${asked.hidden} calls of hidden tools, ${asked.foreign} pairs of ids`);
  });

  /** Sends a message as a client of an older protocol revision does. */
  async function post(key: string, method: string, params: Json): Promise<Json> {
    const response = await fetch(new URL("/mcp", service.url), {
      method: "POST",
      headers: {
        Authorization: `Bearer ${key}`,
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const text = await response.text();
    return JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? text);
  }
  const call = (key: string, tool: Tool, given: Json) => post(key, "tools/call", { name: tool.name, arguments: given });

  async function listedBy(key: string): Promise<string[]> {
    asked.listed += 1;
    const { result, error } = await post(key, "tools/list", {});
    // To a key that may use none, the service is one without tools.
    if (error) expect(error.code).to.equal(-32_601);
    return (result?.tools ?? []).map(({ name }: Json) => name);
  }
  const openTo = (scopes: readonly Scope[]) =>
    tools.filter((tool) => tool.scopes.every((scope) => scopes.includes(scope))).map(({ name }) => name);

  it("a tool is listed exactly if the key has its scopes, and a hidden tool cannot be called", async () => {
    const sets = allScopes.flatMap((scope) => [[scope], allScopes.filter((each) => each !== scope)]);
    const keys = [];
    for (const scopes of sets) keys.push({ scopes, key: await keyOf(scopes) });
    await service.caughtUp();
    for (const { scopes, key } of keys) {
      const names = openTo(scopes);
      expect(await listedBy(key), `with ${scopes}`).to.deep.equal(names);
      const hidden = tools.filter(({ name }) => !names.includes(name));
      // Checks two of the hidden tools for a key with one scope, because keys with more scopes hide some of the same.
      for (const tool of scopes.length === 1 ? hidden.slice(0, 2) : hidden) {
        asked.hidden += 1;
        const { result, error } = await call(key, tool, argumentsOf(tool, stranger));
        const said = `${tool.name} with ${scopes}: ${JSON.stringify(result ?? error)}`;
        expect(result === undefined || result.isError === true, said).to.equal(true);
        expect(said).to.match(/not found|unknown/i);
      }
    }
  });

  it("a tool needs exactly the scopes of the routes that it calls", async () => {
    const routes = new Map(realRoutes().map((route) => [`${route.method} ${route.path}`, route]));
    const deps = httpDependencies(service.deps, {
      database: service.database,
      revocation: { upToDate: () => {}, drain: async () => true },
      webhookDeliveries: service.webhookDeliveries,
      closing: new AbortController().signal,
    });
    for (const tool of tools) {
      const lines: RouteLine[] = [];
      const key = await keyOf(tool.scopes);
      await service.caughtUp();
      const rest = asking(service.url, key);
      const askRest = async (line: RouteLine, { params = {}, query = {}, body, ifMatch }: RouteCall = {}) => {
        lines.push(line);
        const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
        const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
        const path = line.replaceAll(/:(\w+)/g, (_, name) => params[name] as string);
        const headers: Record<string, string> = ifMatch === undefined ? {} : { "If-Match": `"${ifMatch}"` };
        return rest(`${path}?${search}`, { json: body, headers });
      };
      const toolCall: ToolCall = {
        ...{
          args: argumentsOf(tool, stranger),
          workspaceId: stranger.workspaceId,
          keyId: stranger.workspaceId,
          scopes: tool.scopes,
        },
        deps,
        ask: async (line, asks) => (await askRest(line, asks)).json,
        askRaw: async (line, asks) => {
          const { status, bytes } = await askRest(line, asks);
          return { status, headers: {}, content: { bytes } };
        },
        progress: async () => {},
        signal: new AbortController().signal,
        now: () => new Date(),
      };
      // Ignores errors in the tool's text, because only its requests are checked.
      await tool.run(toolCall).catch(() => {});
      const needed = lines.map((line) => routes.get(line)?.scope);
      expect(lines, tool.name).to.not.be.empty;
      expect([...new Set(needed)], `${tool.name}: ${lines}`).to.have.members(tool.scopes);
    }
  });

  it("a foreign id is answered exactly as a missing one", async () => {
    const shape = ({ result }: Json) => ({
      ...result,
      structuredContent: { ...result.structuredContent, request_id: "" },
    });
    for (const tool of tools) {
      for (const name of Object.keys(tool.input.properties).filter(isId)) {
        asked.foreign += 1;
        const foreign = tenant.ids[nounOfField(name)] as string;
        const [theirs, nobodys] = await Promise.all(
          [foreign, missing].map((id) => call(stranger.key, tool, argumentsOf(tool, stranger, { [name]: id }))),
        );
        const said = `${tool.name} ${name}: ${JSON.stringify(theirs)}`;
        expect(JSON.stringify(shape(theirs as Json)).replaceAll(foreign, missing), said).to.equal(
          JSON.stringify(shape(nobodys as Json)),
        );
        const isFilter = name === "identity_id" && tool.name === "list_threads";
        if (isFilter) expect((theirs as Json).result.structuredContent.threads, said).to.deep.equal([]);
        else expect((theirs as Json).result.structuredContent.error, said).to.equal("not_found");
      }
    }
    expect(asked.foreign).to.be.above(12);
  });

  it("calls with foreign ids and missing scopes changed nothing", async () => {
    const draft = (await tenant.ask(`GET /v1/drafts/${tenant.ids.drafts}`)).json;
    expect([draft.status, draft.version]).to.deep.equal(["pending", 1]);
    const { json } = await tenant.ask(`GET /v1/threads/${tenant.ids.threads}`);
    expect([json.messages_total, json.drafts.length]).to.deep.equal([1, 1]);
  });
});
