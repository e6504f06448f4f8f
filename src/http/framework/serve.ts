import { randomUUID } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import type { ReadModel } from "#projections/names.ts";
import { TooMuchWork } from "#src/threadPool/faults.ts";
import { Rejected } from "#streams/decider.ts";
import type { BodyParser } from "./body/bodyParser.ts";
import { usualPaceMs } from "./body/pace.ts";
import { type BodyRead, readBody } from "./body/readBody.ts";
import type { Sender, Upload, Uploads } from "./body/uploads.ts";
import { errorReply, NotReadable } from "./errors.ts";
import { whatIsAsked } from "./idempotency/whatIsAsked.ts";
import { type Admitted, idempotencyKeyOf, judge, type Operation } from "./judge.ts";
import { type Authenticate, type CarriesRevoked, countingUnknown, unauthorized } from "./keys/authenticate.ts";
import type { Flight, InFlight } from "./keys/inFlight.ts";
import { undocumented } from "./openapi/documented.ts";
import { type KeyPrincipal, requireScope } from "./principal.ts";
import { refusalOf } from "./rateLimits/rateLimits.ts";
import type { Strangers } from "./rateLimits/strangers.ts";
import { Reply } from "./reply.ts";
import type { LimitClass, Route } from "./route.ts";
import { send } from "./send.ts";

/** Runs `run` for the first POST under an Idempotency-Key and replays its reply to the others. */
export type Idempotency = (
  post: { admitted: Admitted & { key: KeyPrincipal }; idempotencyKey: string },
  run: (operation?: Operation) => Promise<Reply>,
) => Promise<Reply>;

export type ServeOptions = {
  authenticate: Authenticate;
  /** Throws if nothing can be answered from one of these read models now. */
  requireReadable?: (of: readonly ReadModel[]) => void;
  inFlight: InFlight;
  bodies: Pick<BodyParser, "parse">;
  uploads: Uploads;
  /** Milliseconds that a body may bring nothing, or a large one little (default 15,000). */
  paceMs?: number;
  /** Resolves when this instance knows every revocation that another may have answered; throws Unavailable if it cannot find out. */
  upToDate?: () => void | Promise<void>;
  /** Counts a request. It calls `next`, to refuse with Rejected `rate_limited` and `retryAfter`; the key is in `response.locals.apiKey`. */
  limits?: (limit: LimitClass) => RequestHandler | undefined;
  idempotency?: Idempotency;
  /** Counts requests without a live key. */
  strangers?: Strangers;
  /** Who asks with such a key is not refused for having asked too often (default: nobody does). */
  carriesRevoked?: CarriesRevoked;
  upgradeUrl?: string;
  /** A workspace's plan_status, for answers that a cap is reached. */
  planStatusOf?: (workspaceId: string) => Promise<string>;
  /** Under test: an answer that is not as documented becomes a 500. */
  checkResponses?: boolean;
};

/** What a key is looked up in. */
const keyReadModels: readonly ReadModel[] = ["apiKeys"];

/** Bytes. */
const defaultBodyLimit = 1024 * 1024;

/** One route, in the order of judgement (src/http/docs/contract.md, "Routes"). */
export function serve(route: Route, options: ServeOptions): RequestHandler {
  const limit = options.limits?.(route.limit);
  const authenticate = countingUnknown(options.authenticate, {
    count: (request) => options.strangers?.count("bad_key", request),
    carriesRevoked: options.carriesRevoked ?? (async () => false),
  });
  const judging = { bodies: options.bodies, checkResponses: options.checkResponses ?? false };

  return async (request, response) => {
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    const callId = randomUUID();
    let flight: Flight | undefined;
    let answer: Reply;
    try {
      // Before the key: one that the read models do not know yet is no unknown key.
      options.requireReadable?.([...(route.scope === null ? [] : keyReadModels), ...(route.answersFrom ?? [])]);
      const key = route.scope === null ? undefined : await authenticate(request);
      flight = key && options.inFlight.enter(key.id, callId);
      const signal = flight?.signal ?? new AbortController().signal;
      const upload = options.uploads.begin(senderOf(request, key), Number(request.headers["content-length"] ?? 0));
      const body = bodyOnce(request, route, { upload, paceMs: options.paceMs ?? usualPaceMs });
      const admitted = { request, response, route, key, callId, signal, body };
      const work = flight?.revoked ? Promise.reject(unauthorized()) : respond(admitted);
      // Not when the answer has left: a client that never reads an earlier one on the connection would hold the room.
      void Promise.allSettled([work]).then(upload.giveBack);
      if (flight) leaveWhenOver(flight, { request, response }, [work, closed]);
      answer = await Promise.race([work, whenRevoked(signal)]);
      if (flight) await options.upToDate?.();
    } catch (error) {
      answer = explain(error, request);
    }
    if (options.checkResponses) answer = requireDocumented(answer, request);
    // Nothing is awaited between this look and the answer: what it says about the key is still true when the answer leaves.
    if (flight?.revoked) answer = inPlaceOf(answer, explain(unauthorized(), request));
    await send(response, answer, flight?.signal).catch((error) => brokeOff(error, request, response));
  };

  async function respond(admitted: Admitted): Promise<Reply> {
    const { request, response, key } = admitted;
    response.locals.apiKey = key;
    // Every authenticated request counts, also one that is then refused for its scope.
    const throttled = limit && (await refusalOf(limit, request, response));
    if (key && route.scope !== "any") requireScope(key, route.scope!);
    if (throttled) throw throttled;
    const run = (operation?: Operation) =>
      judge({ ...admitted, operation }, judging).catch((error) => withPlanStatus(explain(error, request), key));
    const idempotencyKey = key && options.idempotency && validKeyOf(request);
    return idempotencyKey ? options.idempotency!({ admitted: { ...admitted, key }, idempotencyKey }, run) : run();
  }

  /** With a payment that is due, the plan may not be what the caller thinks it is. */
  async function withPlanStatus(answer: Reply, key: KeyPrincipal | undefined): Promise<Reply> {
    if (answer.status !== 402 || !key) return answer;
    const status = await options.planStatusOf?.(key.workspaceId).catch(() => undefined);
    if (status === undefined) return answer;
    return new Reply(answer.content, answer.status, { ...answer.headers, "Plan-Status": status });
  }

  function requireDocumented(answer: Reply, request: Request): Reply {
    const fault = undocumented(route, answer);
    return fault === undefined ? answer : explain(new Error(fault), request);
  }

  /** Before its first byte an answer can still become an error; after it, only the end of the connection tells. */
  async function brokeOff(error: unknown, request: Request, response: Response): Promise<void> {
    if (response.headersSent || response.destroyed) {
      // A client of a stream may disconnect at any time.
      if (hasLeft(error)) request.log.info("the client disconnected before the response ended");
      else request.log.warn({ err: error }, "the response was interrupted");
      response.destroy();
      return;
    }
    await send(response, explain(error, request));
  }

  function explain(error: unknown, request: Request): Reply {
    const answer = errorReply(error, { requestId: String(request.id), upgradeUrl: options.upgradeUrl });
    // Nobody is to blame for a request that is one too many. Read models that are not ready have said so themselves, once for all requests.
    const isBusy = error instanceof NotReadable || error instanceof TooMuchWork;
    const decided = isBusy || (error instanceof Rejected && error.code === "unavailable");
    if (answer.status! >= 500 && !decided) request.log.error({ err: error }, "request handler failed");
    return answer;
  }
}

const hasLeft = (error: unknown): boolean => (error as { code?: unknown }).code === "ERR_STREAM_PREMATURE_CLOSE";

function inPlaceOf(dropped: Reply, answer: Reply): Reply {
  if ("stream" in dropped.content) dropped.content.stream.destroy();
  return answer;
}

const senderOf = (request: Request, key: KeyPrincipal | undefined): Sender =>
  key ? { key: key.id, workspace: key.workspaceId } : { key: request.ip ?? "unknown", workspace: "none" };

/** A body that is read when it is first asked for: a request that is refused before that costs no memory. */
function bodyOnce(
  request: Request,
  route: Route,
  { upload, paceMs }: { upload: Upload; paceMs: number },
): () => Promise<BodyRead> {
  let body: Promise<BodyRead> | undefined;
  const limit = route.options.bodyLimit ?? defaultBodyLimit;
  return () => (body ??= readBody(request, { limit, upload, paceMs, hashed: whatIsAsked(request) }));
}

/** How long a client may take over its end of a request whose key was revoked. */
const revokedGraceMs = 1_000;

/** A flight ends with its work, not with its answer: a revoked request that was answered may still be about to append. */
function leaveWhenOver(
  flight: Flight,
  { request, response }: { request: Request; response: Response },
  ends: Promise<unknown>[],
): void {
  void Promise.allSettled(ends).then(flight.leave);
  flight.signal.addEventListener("abort", () => {
    const cut = setTimeout(() => {
      if (!request.complete || !response.writableFinished) request.destroy();
    }, revokedGraceMs);
    cut.unref();
  });
}

const whenRevoked = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(unauthorized());
    signal.addEventListener("abort", () => reject(unauthorized()));
  });

/** A malformed Idempotency-Key is refused in its turn, by judge. */
function validKeyOf(request: Request): string | undefined {
  try {
    return idempotencyKeyOf(request);
  } catch {
    return undefined;
  }
}
