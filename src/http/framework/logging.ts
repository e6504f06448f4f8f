import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request, RequestHandler } from "express";
import type { Logger } from "pino";
import { pinoHttp } from "pino-http";
import { createEventLoopTurns } from "./eventLoopTurns.ts";

/** Nginx's status for a client that disconnected before the answer. */
export const clientGone = 499;

const inTurn = createEventLoopTurns();

/**
 * Logs one line per request, with its request id. It names the route instead of the URL: paths outside /v1 contain secrets, and query
 * strings contain what people search for.
 */
export function logRequests(logger: Logger): RequestHandler {
  // Built once, at the end of the request; pino-http would evaluate `customProps` at both ends and create a child logger each time.
  const withCaller = (request: IncomingMessage, response: ServerResponse, said: object) => ({
    ...said,
    req: request,
    ip: (request as Request).ip,
    route: (request as Request).route?.path ?? "unknown",
    api_key: (response as ServerResponse & { locals?: { apiKey?: { id: string } } }).locals?.apiKey?.id,
  });
  const log = pinoHttp({
    logger,
    genReqId: (request) => request.id,
    quietReqLogger: true,
    serializers: { req: ({ id, method }) => ({ id, method }), res: ({ statusCode }) => ({ statusCode }) },
    customAttributeKeys: { reqId: "request_id" },
    customLogLevel: levelOf,
    quietResLogger: true,
    customSuccessObject: withCaller,
    customErrorObject: (...[request, response, , said]) => withCaller(request, response, said),
    customSuccessMessage: () => "request",
    customErrorMessage: () => "request failed",
    wrapSerializers: false,
  }) as RequestHandler;
  return (request, response, next) => {
    // Many clients may disconnect at the same moment: spread their lines over several turns of the event loop.
    response.once("close", () => {
      if (response.headersSent) return;
      inTurn(() => request.log.info(withCaller(request, response, { res: { statusCode: clientGone } }), "request"));
    });
    log(request, response, next);
  };
}

const probes = ["/healthz", "/readyz", "/metrics"];

function levelOf(request: IncomingMessage, response: ServerResponse, error?: Error) {
  if (!response.headersSent) return "silent";
  if (error || response.statusCode >= 500) return "warn";
  return probes.includes((request as Request).route?.path) ? "debug" : "info";
}
