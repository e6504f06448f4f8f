import Type, { type Static, type TObject, type TSchema } from "typebox";
import type { ReadModel } from "#projections/names.ts";
import type { Cause } from "#src/commands/handle.ts";
import type { Actor } from "#streams/event.ts";
import { type FilePath, filePathsOf } from "./body/encodedFile.ts";
import type { ErrorCode } from "./errors.ts";
import type { Scope } from "./keys/scopes.ts";
import type { Principal } from "./principal.ts";
import { compileAnswerCheck, compileCheck } from "./validation/validation.ts";

/** The classes that rate limits are counted by. */
export type LimitClass = "read" | "write" | "send" | "notify" | "test_email" | "auth";

type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
export type RouteLine = `${Method} /${string}`;
export type ParamNames<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The part of a request that is known before its query and body are read. */
export type RequestContext<Params> = {
  params: Params;
  requestId: string;
  /** Id of the request, made by this instance; never chosen by a client. */
  callId: string;
  /** Aborted when the request's key or session is revoked: pass it to everything that waits. */
  signal: AbortSignal;
};

/**
 * Draws a secret that the answer will contain. Under an Idempotency-Key every run of the operation gets the same secret: it is stored,
 * encrypted with the requesting API key, before it is used. Throws Unavailable.
 */
export type SecretOnce = (draw: () => string) => Promise<string>;

/** The caller, on routes with a scope. */
export type Caller = {
  workspaceId: string;
  principal: Principal;
  actor: Actor;
  /** Passed to commands: the actor and ids of the request. */
  cause: Cause;
  /** For routes whose answer has a secret that is stored nowhere else. */
  secretOnce: SecretOnce;
};

type CallerOfScope<S> = S extends null ? unknown : Caller;

export type HandlerInput<Params, Query, Body, Loaded> = RequestContext<Params> & {
  query: Query;
  body: Body;
  /** The result of `load`. */
  loaded: Loaded;
  /** The version in If-Match, on routes that accept it. */
  ifMatch: number | undefined;
  /** The Idempotency-Key of a POST, if any. */
  idempotencyKey: string | undefined;
  /** The Last-Event-ID after which a stream continues, on routes that accept it; "" if the request has several. */
  lastEventId: string | undefined;
};

/** An answer that is not JSON: the handler replies with bytes or a stream. */
export type RawAnswer = { mediaType: string; description: string };

/** `any`: any live key. null: no key needed. */
export type RouteScope = Scope | "any" | null;

export type RouteOptions<S extends RouteScope, P, Q extends TObject, B extends TSchema, Loaded> = {
  scope: S;
  limit: LimitClass;
  /** One line for the documentation. */
  summary: string;
  description?: string;
  /** Absent: every parameter must be a UUID. */
  params?: TObject;
  /** Flat: strings, integers, booleans. Absent: no parameter is allowed. */
  query?: Q;
  /** Absent: no field is allowed, and the body may be empty. */
  body?: B;
  /** The read models that the answer is read from, if they differ from those of the resource in its path. */
  answersFrom?: readonly ReadModel[];
  /** Bytes; 1 MB by default. */
  bodyLimit?: number;
  answers: TSchema | RawAnswer;
  /** The status of success; 200 by default. */
  status?: 200 | 201 | 202;
  /** Takes If-Match. */
  ifMatch?: true;
  /** Takes Last-Event-ID. */
  lastEventId?: true;
  /** Returns the version in an answer, for its ETag. */
  etag?: (answer: any) => number;
  /** The answer contains a secret that is shown once: if it is stored for repetitions, only the requesting API key can decrypt it. */
  secretAnswer?: true;
  /** Error codes of this route in addition to those common to all routes. */
  errors?: readonly ErrorCode[];
  /** Documents when the route answers 409 invalid_request. */
  conflict?: string;
  /**
   * Loads the resource in the path before query and body are checked; if it is absent: 404. On a route without it the handler answers 404,
   * after 422.
   */
  load?: (reached: RequestContext<P> & CallerOfScope<S>) => Promise<Loaded | undefined | null | false>;
};

/** `A`: the type of the JSON answer as sent. */
export type Route<L extends RouteLine = RouteLine, A = any> = {
  line: L;
  /** Never set: it only carries the type. */
  answer?: A;
  method: Method;
  path: string;
  paramNames: readonly string[];
  scope: RouteScope;
  limit: LimitClass;
  answersFrom: readonly ReadModel[] | undefined;
  options: RouteOptions<any, any, TObject, TSchema, any>;
  query: TObject;
  body: TSchema;
  /** Paths of the files in the body. */
  files: readonly FilePath[];
  handler: (call: any) => Promise<unknown>;
  checkParams: ((value: unknown) => void) | undefined;
  checkQuery: (value: unknown) => void;
  checkBody: (value: unknown) => void;
  /** Functions that each compile part of the schemas in advance; otherwise they are compiled on first use. */
  compile: readonly (() => void)[];
  /** Describes in a sentence how an answer differs from its documentation; undefined if it does not. */
  answerFault: (value: unknown) => string | undefined;
};

const nothing = Type.Object({}, { additionalProperties: false });
type Nothing = typeof nothing;

/** The type of a route's answer by its schema; never for raw answers. */
export type AnswerTo<A> = A extends TSchema ? Static<A> : never;

/** Declares one route: authentication, scope, rate limit, validation, documentation and the check of its answers. */
export function route<
  const L extends RouteLine,
  S extends RouteScope,
  Q extends TObject = Nothing,
  B extends TSchema = Nothing,
  A extends TSchema | RawAnswer = TSchema | RawAnswer,
  Loaded = undefined,
>(
  line: L,
  options: RouteOptions<S, Record<ParamNames<L>, string>, Q, B, Loaded> & { answers: A },
  handler: (
    call: HandlerInput<Record<ParamNames<L>, string>, Static<Q>, Static<B>, Loaded> & CallerOfScope<S>,
  ) => Promise<unknown>,
): Route<L, AnswerTo<A>> {
  const [method, path] = line.split(" ") as [Method, string];
  const { query = nothing, body = nothing, answers } = options;
  const checks = {
    checkParams: options.params && compileCheck(options.params),
    checkQuery: compileCheck(query),
    checkBody: compileCheck(body),
  };
  return {
    line,
    method,
    path,
    paramNames: [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!),
    scope: options.scope,
    limit: options.limit,
    answersFrom: options.answersFrom,
    options: options as Route["options"],
    query,
    body,
    files: filePathsOf(body),
    handler,
    ...checks,
    compile: Object.values(checks).flatMap((check) => check?.compile ?? []),
    answerFault: isRaw(answers) ? () => undefined : compileAnswerCheck(answers),
  };
}

export const isRaw = (answers: TSchema | RawAnswer): answers is RawAnswer => "mediaType" in answers;
