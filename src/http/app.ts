import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from "express";
import helmet from "helmet";
import type { Logger } from "pino";
import Type from "typebox";
import type { Metrics } from "#src/platform/metrics/metrics.ts";
import { Rejected } from "#streams/decider.ts";
import { limitDocuments, serveDocument } from "./docs/document.ts";
import { docsPages } from "./docs/pages.ts";
import type { DescribedSetting } from "./docs/tables.ts";
import { type BodyParser, createBodyParser } from "./framework/body/bodyParser.ts";
import { createUploads, type Uploads } from "./framework/body/uploads.ts";
import { refusalHandler } from "./framework/entryPoint.ts";
import { errorReply } from "./framework/errors.ts";
import { requireKnownHost } from "./framework/hosts.ts";
import { createRequestsInFlight, type RequestsInFlight } from "./framework/keys/requestsInFlight.ts";
import { logRequests } from "./framework/logging.ts";
import { type Document, type Info, openApi } from "./framework/openapi/openapi.ts";
import { nameRequest } from "./framework/requestId.ts";
import { type Route, type RouteScope, route } from "./framework/route.ts";
import { type ServeOptions, serve } from "./framework/serve.ts";
import { healthRoutes, type ReadinessCheck } from "./health/health.ts";
import { measureRequests } from "./health/metrics.ts";
import { notFoundPage } from "./notFoundPage.ts";

export type AppOptions = Omit<ServeOptions, "inFlight" | "bodies" | "uploads"> & {
  routes: readonly Route[];
  logger: Logger;
  /** Title and description of the OpenAPI document. */
  info: Info;
  /** Settings described on /docs/settings. */
  settings?: readonly DescribedSetting[];
  inFlight?: RequestsInFlight;
  bodies?: BodyParser;
  uploads?: Uploads;
  /** Checks of /readyz. */
  readiness?: readonly ReadinessCheck[];
  metrics?: Pick<Metrics, "answered" | "shown">;
  /** Token that callers from outside this machine need to see /metrics and the details of /readyz. */
  metricsToken?: string | undefined;
  /** Routers outside /v1: approval pages, hooks, the outbox, metrics. */
  beside?: readonly RequestHandler[];
  /** Host names of this service in addition to those of this machine: page requests for other hosts get 421. */
  hosts?: readonly string[];
  /** Express's `trust proxy`: proxies whose X-Forwarded-For is used as the client address. Default: none. */
  trustProxy?: number | string[];
};

/** The HTTP service: the routes of the contract, documents and health checks. Everything else gets 404, as a page in browsers. */
export function createApp(options: AppOptions): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.enable("case sensitive routing");
  app.enable("strict routing");
  app.set("query parser", "simple");
  app.set("trust proxy", options.trustProxy ?? false);

  const serveOptions = {
    ...options,
    inFlight: options.inFlight ?? createRequestsInFlight(),
    bodies: options.bodies ?? createBodyParser(),
    uploads: options.uploads ?? createUploads(),
  };
  const unknown = refuseUnknown(serveOptions);
  if (options.metrics) app.use(measureRequests(options.metrics));
  app.use(nameRequest, logRequests(options.logger), requireKnownHost(options.hosts ?? []));
  app.use(["/v1", "/auth"], apiHeaders());
  app.use(onlySound(unknown));
  mount(app, options.routes, serveOptions);
  const document = documentOf(options);
  app.use(["/openapi.json", "/docs", "/llms.txt"], limitDocuments(options.strangers));
  app.get("/", limitDocuments(options.strangers));
  app.get("/openapi.json", serveDocument(document));
  app.use(
    docsPages({ title: options.info.title, document }, { routes: options.routes, settings: options.settings ?? [] }),
  );
  const { readiness = [], metrics, metricsToken } = options;
  app.use(healthRoutes(readiness, { metrics, metricsToken }));
  for (const handler of options.beside ?? []) app.use(handler);
  app.use(notFoundPage, unknown, lastResort(options.upgradeUrl));
  return app;
}

/** Created on first use, because most processes never serve the document. */
function documentOf({ routes, info, idempotency, limits }: AppOptions): () => Document {
  let made: Document | undefined;
  return () =>
    (made ??= openApi(routes, info, { idempotency: idempotency !== undefined, limits: limits !== undefined }));
}

function mount(app: Express, routes: readonly Route[], options: ServeOptions): void {
  const mounted = new Set<string>();
  for (const each of routes) {
    const line = `${each.method} ${each.path}`;
    if (mounted.has(line)) throw new Error(`${line} is declared twice`);
    mounted.add(line);
    app[each.method.toLowerCase() as Lowercase<Route["method"]>](each.path, serve(each, options));
  }
}

/** Headers for API answers: browsers must not run, frame or sniff them. */
const apiHeaders = (): RequestHandler =>
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { "default-src": ["'none'"], "frame-ancestors": ["'none'"] },
    },
  });

/** Refuses OPTIONS, which Express would answer itself, and paths that cannot be percent-decoded. */
const onlySound =
  (unknown: RequestHandler): RequestHandler =>
  (request, response, next) =>
    request.method === "OPTIONS" || !isDecodable(request.path) ? unknown(request, response, next) : next();

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/** Answers 404 to unknown routes and methods. Within /v1 it checks the key first, and the request counts for the rate limit. */
function refuseUnknown(options: ServeOptions): RequestHandler {
  const refuse = async () => {
    throw new Rejected("not_found", "no such route: see /docs or /openapi.json for all routes");
  };
  const nowhere = (scope: RouteScope, limit: "read" | "write") =>
    serve(
      route("GET /", { scope, limit, summary: "", answers: Type.Null(), errors: ["not_found"], load: refuse }, refuse),
      options,
    );
  const outside = nowhere(null, "read");
  const reading = nowhere("any", "read");
  const writing = nowhere("any", "write");
  return (request, response, next) => {
    if (!/^\/v1(\/|$)/.test(request.path)) return outside(request, response, next);
    return (isRead(request) ? reading : writing)(request, response, next);
  };
}

const isRead = ({ method }: Request): boolean => method === "GET" || method === "HEAD";

/** Answers uncaught errors. Never shows a stack trace. */
const lastResort = (upgradeUrl: string | undefined): ErrorRequestHandler =>
  refusalHandler({
    refused(error, request) {
      // Refusals are the caller's fault, and must not let strangers fill the error log.
      if (!(error instanceof Rejected)) request.log.error({ err: error }, "request handler failed");
      return errorReply(error, { requestId: String(request.id), upgradeUrl });
    },
  });
