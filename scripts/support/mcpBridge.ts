import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  parseJSONRPCMessage,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

export type BridgeOptions = {
  key: string;
  /** URL of /mcp. */
  url: URL;
  /** Called with errors. They must not go to standard output, which belongs to the client. */
  log(message: string): void;
};

/** JSON-RPC error code of this program: the service could not be reached, or did not answer. */
const notAnswered = -32_000;

/**
 * Passes messages between this process's standard input and output and a service's /mcp, unchanged. A request that cannot be passed on,
 * or whose answer breaks off, is answered with an error: a client would wait for ever. Ends when standard input does.
 */
export async function startBridge({ key, url, log }: BridgeOptions): Promise<void> {
  const client = new StdioServerTransport();
  const service = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
  });
  /** Pending requests of the client, by id. */
  const waiting = new Map<string | number, { request: JSONRPCRequest; giveUp: AbortController }>();

  const answer = (message: JSONRPCMessage) =>
    client.send(message).catch((error) => log(`The client could not be answered: ${error.message}`));

  function refuse(id: string | number, error: unknown): void {
    if (!waiting.delete(id)) return;
    void answer(errorOf(id, error));
  }

  client.onmessage = (message) => {
    if (!isJSONRPCRequest(message)) {
      giveUpCancelled(message);
      return void service.send(message).catch(() => {});
    }
    const giveUp = new AbortController();
    const { id } = message;
    waiting.set(id, { request: message, giveUp });
    const broken = () => refuse(id, new Error("the service ended its answer before it was whole"));
    service
      .send(message, { requestSignal: giveUp.signal, onRequestStreamEnd: broken })
      .catch((error) => refuse(id, error));
  };

  function giveUpCancelled(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    const id = (message.params as { requestId?: string | number } | undefined)?.requestId;
    if (id === undefined) return;
    waiting.get(id)?.giveUp.abort();
    waiting.delete(id);
  }

  service.onmessage = (message) => {
    if (!("method" in message) && message.id !== undefined) {
      const asked = waiting.get(message.id)?.request;
      waiting.delete(message.id);
      if (asked?.method === "initialize" && "result" in message) agree(message.result);
    }
    void answer(message);
  };

  /** Adds the protocol revision that client and service agreed on to each later request. */
  function agree(result: Record<string, unknown>): void {
    if (typeof result.protocolVersion === "string") service.setProtocolVersion(result.protocolVersion);
  }

  service.onerror = (error) => log(shown(error));
  client.onerror = (error) => log(shown(error));
  client.onclose = () => void service.close();
  await service.start();
  await client.start();
}

/** Returns the service's own JSON-RPC error if it sent one, and otherwise its message or the network's. */
function errorOf(id: string | number, error: unknown): JSONRPCMessage {
  const text = error instanceof SdkHttpError ? error.data.text : undefined;
  const own = parsed(text);
  if (own && isJSONRPCErrorResponse(own) && own.id === id) return own;
  return { jsonrpc: "2.0", id, error: { code: notAnswered, message: shown(error) } };
}

function parsed(text: unknown): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(JSON.parse(String(text)));
  } catch {
    return undefined;
  }
}

/** Formats an error in one line: the service's sentence, or the network's cause. */
function shown(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = error instanceof SdkHttpError ? sentenceOf(error) : undefined;
  const { cause } = error;
  return (
    said ??
    (cause instanceof Error
      ? `${error.message}: ${cause.message || (cause as NodeJS.ErrnoException).code}`
      : error.message)
  );
}

function sentenceOf({ status, data: { text } }: SdkHttpError): string | undefined {
  try {
    const { error, message } = JSON.parse(String(text));
    return typeof error === "string" && typeof message === "string" ? `${status} ${error}: ${message}` : undefined;
  } catch {
    return undefined;
  }
}
