import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as it came. `params`: what stood at the `:name` parts of the path; `body`: the JSON, undefined where there is none. */
export type MockCall = {
  method: string;
  path: string;
  query: URLSearchParams;
  params: Record<string, string>;
  headers: IncomingMessage["headers"];
  text: string;
  body: any;
};

export type MockAnswer = { status: number; body?: unknown; headers?: Record<string, string> };

/** What is answered to whom, by method and path: `"GET /v3/things/:id"`. */
export type MockHandlers = Record<string, (call: MockCall) => MockAnswer | Promise<MockAnswer>>;

/**
 * Takes a request out of the ordinary way: answers true where it has dealt with it, or will. `before`: its headers have come; `after`: it has
 * been handled, and would now be answered with `answer`.
 */
export type MockFault = {
  before?(request: IncomingMessage, response: ServerResponse): boolean;
  after?(call: MockCall, answer: MockAnswer, response: ServerResponse): boolean;
};

export type MockSendGrid = Awaited<ReturnType<typeof startMockSendGrid>>;

/** The key it takes. */
export const mockApiKey = "SG.mock.key-of-a-mock";

/**
 * A mock of SendGrid's API on loopback: not the provider, only what its descriptions say of it. What it knows stands in tables of handlers, each
 * with a state of its own. Whoever comes with another key is told 401.
 */
export async function startMockSendGrid(...tables: MockHandlers[]) {
  const calls: MockCall[] = [];
  let fault: MockFault | undefined;
  const routes = tables.flatMap((table) =>
    Object.entries(table).map(([route, handler]) => ({ ...pattern(route), handler })),
  );

  async function answerTo(call: MockCall): Promise<MockAnswer> {
    if (call.headers.authorization !== `Bearer ${mockApiKey}`)
      return problem(401, "The provided authorization grant is invalid, expired, or revoked");
    for (const { method, matches, handler } of routes) {
      const match = method === call.method ? matches.exec(call.path) : null;
      if (match) return handler({ ...call, params: { ...match.groups } });
    }
    return problem(404, "not found");
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const during = fault;
    if (during?.before?.(request, response)) return;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const { pathname: path, searchParams: query } = new URL(request.url!, "http://mock");
    const { method = "", headers } = request;
    const call: MockCall = { method, path, query, params: {}, headers, text, body: parsed(text) };
    calls.push(call);
    const answer = await answerTo(call);
    if (during?.after?.(call, answer, response)) return;
    response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
    response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  }

  const server = createServer((request, response) => void respond(request, response).catch(() => response.destroy()));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    /** Every request whose whole body came, in order. */
    calls: calls as readonly MockCall[],
    /** From now on every request goes this way; undefined: the ordinary one. */
    setFault(next: MockFault | undefined): void {
      fault = next;
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A refusal in the provider's own form. */
export const problem = (status: number, message: string, field: string | null = null): MockAnswer => ({
  status,
  body: { errors: [{ message, field, help: null }] },
});

function pattern(route: string): { method: string; matches: RegExp } {
  const [method = "", path = ""] = route.split(" ");
  return { method, matches: new RegExp(`^${path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
