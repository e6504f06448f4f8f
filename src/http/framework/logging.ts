import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request, RequestHandler } from "express";
import type { Logger } from "pino";
import { pinoHttp } from "pino-http";
import { createTurns } from "./turns.ts";

/** The customary status of a request whose client did not wait for the answer. */
export const clientGone = 499;

const inTurn = createTurns();

/**
 * One line per request, under the id that its response carries. It names the route and not the URL: paths beside /v1 carry secrets,
 * query strings what people search for.
 */
export function logRequests(logger: Logger): RequestHandler {
  // Once, when it is over. As `customProps` they would be put together at either end, each time into a logger of its own.
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
    // Many clients may go at the same moment: their lines take their turns.
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
