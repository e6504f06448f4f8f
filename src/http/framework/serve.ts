import type { Request, RequestHandler } from "express";
import type { ReadModel } from "#projections/names.ts";
import { TooMuchWork } from "#src/platform/threadPool/faults.ts";
import { Rejected } from "#streams/decider.ts";
import type { BodyParser } from "./body/bodyParser.ts";
import { usualPaceMs } from "./body/pace.ts";
import { type BodyRead, readBody } from "./body/readBody.ts";
import type { Upload, UploadSender, Uploads } from "./body/uploads.ts";
import { answer, type Credential, type EntryPoint } from "./entryPoint.ts";
import { errorReply, NotReadable } from "./errors.ts";
import { requestFingerprint } from "./idempotency/requestFingerprint.ts";
import { type KeyOptions, keyCredential } from "./keys/keyCredential.ts";
import { undocumented } from "./openapi/documented.ts";
import { type KeyPrincipal, requireScope } from "./principal.ts";
import type { CountRequest } from "./rateLimits/rateLimits.ts";
import { Reply } from "./reply.ts";
import type { Route } from "./route.ts";
import { idempotencyKeyOf, type Operation, type RouteRequest, runRoute } from "./runRoute.ts";

/** Calls `run` for the first POST under an Idempotency-Key, and replays its answer to repetitions. */
export type Idempotency = (
  post: { admitted: RouteRequest & { key: KeyPrincipal }; idempotencyKey: string },
  run: (operation?: Operation) => Promise<Reply>,
) => Promise<Reply>;

export type ServeOptions = KeyOptions & {
  /** Throws NotReadable if one of these read models cannot be read now. */
  requireReadable?: (of: readonly ReadModel[]) => void;
  bodies: Pick<BodyParser, "parse">;
  uploads: Uploads;
  /** Milliseconds in which a body must bring data, and a large one at least 64 KB (default 15,000). */
  paceMs?: number;
  limits?: CountRequest;
  idempotency?: Idempotency;
  upgradeUrl?: string;
  /** Reads a workspace's plan_status, for 402 answers. */
  planStatusOf?: (workspaceId: string) => Promise<string>;
  /** In tests: an answer that differs from its documentation becomes a 500. */
  checkResponses?: boolean;
};

const anybody: Credential<undefined> = { credential: async () => undefined };

/** Read models needed to look up a key. */
const keyReadModels: readonly ReadModel[] = ["apiKeys"];

/** Bytes. */
const defaultBodyLimit = 1024 * 1024;

/** Express handler of one route; the order of checks is in src/http/docs/contract.md, "Routes". */
export function serve(route: Route, options: ServeOptions): RequestHandler {
  const entryPoint: EntryPoint<KeyPrincipal | undefined> = {
    // Checked before the key: a key that the read model has not got yet must not be refused as unknown.
    requireReadable: () =>
      options.requireReadable?.([...(route.scope === null ? [] : keyReadModels), ...(route.answersFrom ?? [])]),
    ...(route.scope === null ? anybody : keyCredential(options)),
    refused: (error, request) => documented(explain(error, request), request),
    interrupted: noteInterrupted,
  };

  return async (request, response) => {
    await answer({ request, response }, entryPoint, async (admitted) => {
      const upload = options.uploads.begin(senderOf(admitted), Number(request.headers["content-length"] ?? 0));
      // Frees the memory when the work ends, not when the answer is sent: otherwise a client that does not read an earlier answer on the
      // connection would keep it reserved.
      try {
        const body = bodyOnce(request, route, { upload, paceMs: options.paceMs ?? usualPaceMs });
        return documented(await respond({ ...admitted, route, key: admitted.who, body }), request);
      } finally {
        upload.giveBack();
      }
    });
  };

  async function respond(admitted: RouteRequest): Promise<Reply> {
    const { request, response, key } = admitted;
    response.locals.apiKey = key;
    // Every authenticated request counts, also one that is then refused for its scope.
    const throttled = await options.limits?.(route.limit, admitted).catch((error: unknown) => error);
    if (key && route.scope !== "any") requireScope(key, route.scope!);
    if (throttled) throw throttled;
    const run = (operation?: Operation) =>
      runRoute({ ...admitted, operation }, options.bodies).catch((error) =>
        withPlanStatus(explain(error, request), key),
      );
    const idempotencyKey = key && options.idempotency && validKeyOf(request);
    return idempotencyKey ? options.idempotency!({ admitted: { ...admitted, key }, idempotencyKey }, run) : run();
  }

  /** Adds Plan-Status to 402 answers: with an overdue payment the plan may differ from what the caller expects. */
  async function withPlanStatus(refusal: Reply, key: KeyPrincipal | undefined): Promise<Reply> {
    if (refusal.status !== 402 || !key) return refusal;
    const status = await options.planStatusOf?.(key.workspaceId).catch(() => undefined);
    if (status === undefined) return refusal;
    return new Reply(refusal.content, refusal.status, { ...refusal.headers, "Plan-Status": status });
  }

  /** In tests, replaces an answer that differs from its documentation by a 500. */
  function documented(reply: Reply, request: Request): Reply {
    const fault = options.checkResponses ? undocumented(route, reply) : undefined;
    return fault === undefined ? reply : explain(new Error(fault), request);
  }

  function explain(error: unknown, request: Request): Reply {
    const refusal = errorReply(error, { requestId: String(request.id), upgradeUrl: options.upgradeUrl });
    // Overload is no fault of the service, and unready read models are logged once for all requests: neither is logged here.
    const isBusy = error instanceof NotReadable || error instanceof TooMuchWork;
    const decided = isBusy || (error instanceof Rejected && error.code === "unavailable");
    if (refusal.status! >= 500 && !decided) request.log.error({ err: error }, "request handler failed");
    return refusal;
  }
}

/** Logs an answer that broke off; clients of streams disconnect at any time. */
function noteInterrupted(error: unknown, request: Request): void {
  const hasLeft = (error as { code?: unknown }).code === "ERR_STREAM_PREMATURE_CLOSE";
  if (hasLeft) request.log.info("the client disconnected before the response ended");
  else request.log.warn({ err: error }, "the response was interrupted");
}

const senderOf = ({ request, who: key }: { request: Request; who: KeyPrincipal | undefined }): UploadSender =>
  key ? { key: key.id, workspace: key.workspaceId } : { key: request.ip ?? "unknown", workspace: "none" };

/** Reads the body on first use: a request that is refused before that costs no memory for it. */
function bodyOnce(
  request: Request,
  route: Route,
  { upload, paceMs }: { upload: Upload; paceMs: number },
): () => Promise<BodyRead> {
  let body: Promise<BodyRead> | undefined;
  const limit = route.options.bodyLimit ?? defaultBodyLimit;
  return () => (body ??= readBody(request, { limit, upload, paceMs, hashed: requestFingerprint(request) }));
}

/** The Idempotency-Key, or undefined if it is malformed: `runRoute` refuses it later, in order. */
function validKeyOf(request: Request): string | undefined {
  try {
    return idempotencyKeyOf(request);
  } catch {
    return undefined;
  }
}
