import { randomUUID } from "node:crypto";
import { type createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { Rejected } from "#streams/decider.ts";
import { holdersOf, type LongRequestLimit } from "../framework/longRequestLimit.ts";
import { allowedForms, inAllowedForm } from "./answerForms.ts";
import type { Cancellations } from "./cancellations.ts";
import type { McpRequest } from "./request.ts";
import type { McpRequests } from "./resourceUpdates.ts";

type Fetch = ReturnType<typeof createMcpHandler>["fetch"];

export type ExchangeOptions = { requests: McpRequests; waits: LongRequestLimit; cancellations: Cancellations };

/** A message that the library has not checked yet. */
type Message = {
  method?: unknown;
  id?: unknown;
  params?: { requestId?: unknown; notifications?: unknown } | null;
} | null;

/** Names the client in the revisions with `initialize`. It grants nothing and is stored nowhere: it only tells clients of a key apart. */
const clientHeader = "mcp-session-id";

/**
 * What the service adds to the library's handling of a request: one message per request, because a batch would be many calls counted as
 * one; an answer in a form that the request allows; places for subscriptions; cancellations by notification.
 */
export function exchange(fetch: Fetch, { requests, waits, cancellations }: ExchangeOptions): Fetch {
  return async (request, context) => {
    const current = requests.getStore();
    if (request.method !== "POST" || !current) return fetch(request, context);
    const message = withoutNulls(await request.clone().json().catch(noJson));
    if (Array.isArray(message)) return refused(-32600, "batches are not supported: send one message per request");
    const forms = allowedForms(request.headers.get("accept"));
    const isSubscription = message?.method === "subscriptions/listen";
    if (!forms.stream && (isSubscription || !forms.json))
      return refused(-32000, isSubscription ? needsStream : needsEither, 406);
    const refusal = isSubscription ? takePlace(current, waits) : undefined;
    if (refusal) return refusal;
    const isLegacy = message !== undefined && (await isLegacyRequest(request, message));
    const cancelled = isLegacy && message ? await cancelling(message, request, current) : undefined;
    // The library serves only requests that allow both forms.
    const headers = new Headers(request.headers);
    headers.set("accept", "application/json, text/event-stream");
    const signal = cancelled ? AbortSignal.any([request.signal, cancelled]) : request.signal;
    const parsed = message === undefined ? context : { ...context, parsedBody: message };
    const given = await requests.run({ ...current, subscribed: urisOf(message) }, () =>
      fetch(new Request(request, { headers, signal }), parsed),
    );
    const answer = await inAllowedForm(given, forms);
    if (isLegacy && message?.method === "initialize") answer.headers.set(clientHeader, randomUUID());
    return answer;
  };

  /**
   * Cancels the call that a notification names. Returns the signal by which another request's notification cancels this one, if it calls a
   * tool. In the revision without `initialize` a client cancels a call by closing its connection.
   */
  async function cancelling(
    { method, id, params }: NonNullable<Message>,
    { headers }: Request,
    { key, request }: McpRequest,
  ): Promise<AbortSignal | undefined> {
    const caller = { keyId: key.id, client: headers.get(clientHeader) };
    const requestId = params?.requestId;
    if (method === "notifications/cancelled" && isId(requestId))
      await cancellations.cancel({ ...caller, id: requestId });
    if (method !== "tools/call" || !isId(id) || request.res?.destroyed) return undefined;
    const cancelled = new AbortController();
    request.res?.once(
      "close",
      cancellations.enter({ ...caller, id }, () => cancelled.abort()),
    );
    return cancelled.signal;
  }
}

/**
 * Takes a place of the key and workspace for a subscription, until the response is closed; it ends when another request takes that place.
 * Returns a refusal if none is free.
 */
function takePlace({ key, signal, end, request }: McpRequest, waits: LongRequestLimit): Response | undefined {
  try {
    const place = waits.take(holdersOf({ id: key.id, workspaceId: key.workspaceId }));
    place.replaced.addEventListener("abort", end);
    request.res?.once("close", place.leave);
    signal.addEventListener("abort", place.leave);
    return undefined;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return refused(-32000, error.message, 429);
  }
}

/** Drops parameters that are null, which some clients write for all that they leave out. */
function withoutNulls(message: Message | unknown[] | undefined): typeof message {
  if (Array.isArray(message) || typeof message !== "object" || message === null) return message;
  const { params, ...rest } = message;
  if (typeof params !== "object" || Array.isArray(params)) return message;
  const given = Object.entries(params ?? {}).filter(([, value]) => value !== null);
  return params === null ? rest : { ...rest, params: Object.fromEntries(given) };
}

/** The URIs of the resources to which a message subscribes, as written. */
function urisOf(message: Message | undefined): string[] {
  const { resourceSubscriptions: uris } = (message?.params?.notifications ?? {}) as Record<string, unknown>;
  return Array.isArray(uris) ? [...new Set(uris.filter((uri) => typeof uri === "string"))] : [];
}

const isId = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number";

const noJson = () => undefined;

const needsEither = "not acceptable: answers are application/json or text/event-stream: allow one of them in Accept";
const needsStream = "not acceptable: a subscription is an event stream: allow text/event-stream in Accept";

const refused = (code: number, message: string, status = 400) =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });
