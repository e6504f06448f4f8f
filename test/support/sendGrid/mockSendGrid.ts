import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A received request. `params`: the values of the `:name` parts of the path; `body`: the JSON, undefined if there is none. */
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

/** Handlers by method and path: `"GET /v3/things/:id"`. */
export type MockHandlers = Record<string, (call: MockCall) => MockAnswer | Promise<MockAnswer>>;

/**
 * Intercepts a request: returns true if it answers it, now or later. `before`: called when its headers have arrived; `after`: called when
 * it was handled, and would now be answered with `answer`.
 */
export type MockFault = {
  before?(request: IncomingMessage, response: ServerResponse): boolean;
  after?(call: MockCall, answer: MockAnswer, response: ServerResponse): boolean;
};

export type MockSendGrid = Awaited<ReturnType<typeof startMockSendGrid>>;

/** The API key that it accepts. */
export const mockApiKey = "SG.mock.key-of-a-mock";

/**
 * Starts a mock of SendGrid's API on loopback, made from its descriptions only. Its behaviour is in tables of handlers, each with its own
 * state. Another key gets 401.
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
    /** Every request whose whole body arrived, in order. */
    calls: calls as readonly MockCall[],
    /** Sets the fault for every later request; undefined: none. */
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

/** Makes a refusal in the provider's own form. */
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
