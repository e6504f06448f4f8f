import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

/** The official client, connected under a key. */
export async function connect(url: string, key: string, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, options);
  const headers = { Authorization: `Bearer ${key}` };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers } }));
  return client;
}

export type Called = { text: string; structured: any; isError: boolean };

/** Calls a tool and returns its answer. */
export async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Called> {
  return answerOf(await client.callTool({ name, arguments: args }));
}

export function answerOf({ content, structuredContent, isError }: Awaited<ReturnType<Client["callTool"]>>): Called {
  const [first] = content as { type: string; text: string }[];
  return { text: first?.text ?? "", structured: structuredContent as any, isError: isError === true };
}
