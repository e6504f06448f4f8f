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
export type Line = `${Method} /${string}`;
export type ParamNames<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** What a request is known by before its query and body are looked at. */
export type Reached<Params> = {
  params: Params;
  requestId: string;
  /** This instance's own name for the request; never a client's. */
  callId: string;
  /** Aborted when the request's key is revoked: pass it to everything that waits. */
  signal: AbortSignal;
};

/**
 * Draws a secret that the answer will hold. Under an Idempotency-Key every run of the operation is given the same one: it is kept, sealed under
 * the API key that asks, before anything is made with it. Throws Unavailable.
 */
export type SecretOnce = (draw: () => string) => Promise<string>;

/** Who asks, on a route with a scope. */
export type Caller = {
  workspaceId: string;
  principal: Principal;
  actor: Actor;
  /** What a command wants to know of the request. */
  cause: Cause;
  /** Used by routes whose answer has a secret that is stored nowhere else. */
  secretOnce: SecretOnce;
};

type WhoAsks<S> = S extends null ? unknown : Caller;

export type Call<Params, Query, Body, Loaded> = Reached<Params> & {
  query: Query;
  body: Body;
  /** What `load` found. */
  loaded: Loaded;
  /** The version If-Match names, on routes that take it. */
  ifMatch: number | undefined;
  /** The Idempotency-Key, if a POST has one. */
  idempotencyKey: string | undefined;
  /** The Last-Event-ID after which a stream continues, on routes that accept it; "" if the request has several. */
  lastEventId: string | undefined;
};

/** An answer that is not JSON: the handler replies with bytes or a stream. */
export type RawAnswer = { mediaType: string; description: string };

/** `any`: whichever key is live. null: no key at all. */
export type RouteScope = Scope | "any" | null;

export type RouteOptions<S extends RouteScope, P, Q extends TObject, B extends TSchema, Loaded> = {
  scope: S;
  limit: LimitClass;
  /** One line for the documentation. */
  summary: string;
  description?: string;
  /** Absent: every parameter is a UUID. */
  params?: TObject;
  /** Flat: strings, integers, booleans. Absent: no parameter is known. */
  query?: Q;
  /** Absent: no field is known, and no body is needed. */
  body?: B;
  /** The read models that its answer is made from, where they are others than its noun's. */
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
  /** The version of an answer, for its ETag. */
  etag?: (answer: any) => number;
  /** The answer holds a secret that is shown once: where it is kept for repetitions, only the API key that asked can open it. */
  secretAnswer?: true;
  /** Codes it may answer beside those that every route may. */
  errors?: readonly ErrorCode[];
  /** It may answer 409 invalid_request; says when. */
  conflict?: string;
  /**
   * Looks up what the path names, before query and body are judged: nothing found is 404. A route that leaves it
   * out has the handler find out, after 422.
   */
  load?: (reached: Reached<P> & WhoAsks<S>) => Promise<Loaded | undefined | null | false>;
};

/** `A`: the JSON that it answers, as it is sent. */
export type Route<L extends Line = Line, A = any> = {
  line: L;
  /** Never set: it carries the type alone. */
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
  /** Where its body has files. */
  files: readonly FilePath[];
  handler: (call: any) => Promise<unknown>;
  checkParams: ((value: unknown) => void) | undefined;
  checkQuery: (value: unknown) => void;
  checkBody: (value: unknown) => void;
  /** Each does a step of compiling its schemas now, where they would be when they are first used. */
  compile: readonly (() => void)[];
  /** A sentence on how an answer differs from what is documented; undefined if it does not. */
  answerFault: (value: unknown) => string | undefined;
};

const nothing = Type.Object({}, { additionalProperties: false });
type Nothing = typeof nothing;

/** What a route answers with this schema; an answer that is no JSON has no type here. */
export type AnswerTo<A> = A extends TSchema ? Static<A> : never;

/** One row of the contract: authentication, scope, rate limit, validation, documentation and the check of the answer, in one place. */
export function route<
  const L extends Line,
  S extends RouteScope,
  Q extends TObject = Nothing,
  B extends TSchema = Nothing,
  A extends TSchema | RawAnswer = TSchema | RawAnswer,
  Loaded = undefined,
>(
  line: L,
  options: RouteOptions<S, Record<ParamNames<L>, string>, Q, B, Loaded> & { answers: A },
  handler: (call: Call<Record<ParamNames<L>, string>, Static<Q>, Static<B>, Loaded> & WhoAsks<S>) => Promise<unknown>,
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
