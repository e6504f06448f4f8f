/**
 * An answer; `json` is undefined if it is not JSON. Of a stream of events, which never ends, it has only the head. `outcome`: the status,
 * and a refusal's code, such as "201" or "409 stale_draft".
 */
export type HttpAnswer = { status: number; outcome: string; headers: Headers; text: string; bytes: Buffer; json: any };

/** Sends a request such as "GET /v1/threads"; `key` null sends no key. */
export type Ask = (
  line: string,
  options?: {
    json?: unknown;
    body?: RequestInit["body"];
    headers?: Record<string, string>;
    key?: string | null;
    signal?: AbortSignal;
  },
) => Promise<HttpAnswer>;

/** Sends requests to a service with this key unless overridden; `url` is a function if the service's address changes. */
export const asking =
  (url: string | (() => string), ownKey: string): Ask =>
  async (line, { json, body = null, headers = {}, key = ownKey, signal = null } = {}) => {
    const [method, path] = line.split(" ") as [string, string];
    const response = await fetch((typeof url === "string" ? url : url()) + path, {
      method,
      headers: {
        ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
        ...(json === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: json === undefined ? body : JSON.stringify(json),
      signal,
    });
    const type = response.headers.get("content-type") ?? "";
    if (type.startsWith("text/event-stream")) {
      await response.body?.cancel();
      const outcome = `${response.status}`;
      return { ...{ status: response.status, outcome, headers: response.headers }, ...withoutBody };
    }
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes.toString("utf8");
    const isJson = text !== "" && type.startsWith("application/json");
    const parsed = isJson ? JSON.parse(text) : undefined;
    const code = response.status >= 400 ? parsed?.error : undefined;
    return {
      status: response.status,
      outcome: [response.status, code].filter((part) => part !== undefined).join(" "),
      headers: response.headers,
      text,
      bytes,
      json: parsed,
    };
  };

const withoutBody = { text: "", bytes: Buffer.alloc(0), json: undefined };
