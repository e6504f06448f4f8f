import { AsyncLocalStorage } from "node:async_hooks";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { Router } from "express";
import { Rejected } from "#streams/decider.ts";
import { type Admitted, admit, type EntryPoint, refusalHandler } from "../framework/entryPoint.ts";
import { errorReply, NotReadable } from "../framework/errors.ts";
import { unauthorized } from "../framework/keys/authenticate.ts";
import { type KeyOptions, keyCredential } from "../framework/keys/keyCredential.ts";
import type { KeyPrincipal } from "../framework/principal.ts";
import type { CountRequest } from "../framework/rateLimits/rateLimits.ts";
import { isOtherSite } from "../framework/sameOrigin.ts";
import type { Cancellations } from "./cancellations.ts";
import { exchange } from "./exchange.ts";
import type { McpRequest } from "./request.ts";
import { createResourceUpdates, type McpRequests } from "./resourceUpdates.ts";
import { type McpDependencies, mcpServer } from "./server.ts";

export type McpOptions = McpDependencies &
  Required<KeyOptions> & {
    limits: CountRequest;
    cancellations: Cancellations;
    publicUrl: string;
  };

/** Bytes; no tool accepts files. */
const maxRequestBodySize = 1024 * 1024;
/** Milliseconds that a call has to report that its key was revoked, before its connection is closed. */
const revokedGraceMs = 500;
/** Maximum number of subscriptions to resources on this instance. */
const maxSubscriptions = 500;

/**
 * `/mcp`: streamable HTTP for clients of the Model Context Protocol. Requests are independent, each under its own key: there are no
 * sessions to hijack, and any instance answers any request.
 */
export function mcpRouter(options: McpOptions): Router {
  const requests: McpRequests = new AsyncLocalStorage();
  const bus = createResourceUpdates(options.deps, requests, options.onError);
  const handler = createMcpHandler(
    ({ era }) => {
      const incoming = requests.getStore();
      if (!incoming) throw new Error("an MCP request without its key");
      return mcpServer(options, incoming, { canSubscribe: era === "modern" });
    },
    { maxRequestBodySize, maxSubscriptions, bus },
  );
  const { cancellations, deps } = options;
  const fetch = exchange(handler.fetch, { requests, waits: deps.waits, cancellations });
  const answer = toNodeHandler({ ...handler, fetch }, { maxRequestBodySize, onerror: options.onError });
  const entryPoint: EntryPoint<KeyPrincipal> = {
    requireOrigin(request) {
      if (isOtherSite(request, options.publicUrl))
        throw new Rejected("insufficient_scope", "pages of other sites cannot call /mcp: call it from a program");
    },
    // Checked before the key, as in /v1: a key that the read model has not got yet must not be refused as unknown.
    requireReadable: () => options.deps.requireReadable(["apiKeys"]),
    ...keyCredential(options),
    refused(error, request) {
      report(error);
      return errorReply(error, { requestId: String(request.id) });
    },
    interrupted: report,
  };
  const router = Router({ caseSensitive: true, strict: true });
  router.all("/mcp", async (request, response) => serve(await admit({ request, response }, entryPoint)));
  router.use("/mcp", refusalHandler(entryPoint));
  return router;

  function report(error: unknown): void {
    if (!(error instanceof Rejected || error instanceof NotReadable)) options.onError(error);
  }

  /** Lets the library write the answer; each tool call checks that its key is still live before it returns anything. */
  async function serve(admitted: Admitted<KeyPrincipal>): Promise<void> {
    const { request, response, who: key, signal, flight } = admitted;
    // A stream ends with its key; a call in progress has a moment to report why.
    signal.addEventListener("abort", () => setTimeout(() => response.destroy(), revokedGraceMs).unref());
    try {
      response.locals.apiKey = key;
      await options.limits("read", { request, response, key });
      const incoming = requestOf(admitted);
      // An instance that was suspended first reads which keys were revoked meanwhile: tool calls check this themselves, other answers do
      // not.
      await incoming.requireLive();
      await requests.run(incoming, () => answer(request, response));
    } finally {
      flight?.leave();
    }
  }

  function requestOf(admitted: Admitted<KeyPrincipal>): McpRequest {
    const { request, response, who: key, signal } = admitted;
    return {
      ...{ key, request, signal, subscribed: [] },
      // A request has one message and was already counted as a read.
      count: (limit) => (limit === "read" ? Promise.resolve() : options.limits(limit, { request, response, key })),
      end: () => response.destroy(),
      async requireLive() {
        await options.upToDate();
        if (signal.aborted) throw unauthorized();
      },
    };
  }
}
