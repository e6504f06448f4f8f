import type { Static, TObject } from "typebox";
import type { HttpDependencies } from "../dependencies.ts";
import type { RouteCall } from "../framework/inProcess.ts";
import type { Scope } from "../framework/keys/scopes.ts";
import type { Reply } from "../framework/reply.ts";
import type { LimitClass, Line } from "../framework/route.ts";
import type { Answers } from "../routes.ts";

/** One tool, as a model is told of it. */
export type Tool = {
  name: string;
  title: string;
  /** For a model: when to use it, what it does, what it never does. */
  description: string;
  /** A key without one of them is not told of the tool. */
  scopes: readonly Scope[];
  /** Made from the schemas of the routes it asks. */
  input: TObject;
  /** Its calls count as requests of this class. */
  limit: LimitClass;
  annotations: Record<"readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint", boolean>;
  /** Throws Rejected, Unavailable: the runner says them to the model, with what to do next. */
  run(call: ToolCall): Promise<ToolResult>;
};

/** Declares a tool; its arguments have the types of `input`, by which they are judged before it runs. */
export const tool = <const I extends TObject>(
  made: Omit<Tool, "input" | "run"> & { input: I; run(call: ToolCall<Static<I>>): Promise<ToolResult> },
): Tool => ({ ...made, run: (call) => made.run(call as ToolCall<Static<I>>) });

export type ToolCall<Args = unknown> = {
  /** As `input` has them. */
  args: Args;
  workspaceId: string;
  keyId: string;
  scopes: readonly string[];
  /** The JSON answer of a route, under the key's scopes and the route's own rules. */
  ask<L extends keyof Answers>(line: L, call?: RouteCall, options?: AskOptions): Promise<Answers[L]>;
  askRaw(line: Line, call?: RouteCall): Promise<Reply>;
  /** Tells a client that waits how far it is; nothing for one that did not ask. */
  progress(message: string): Promise<void>;
  /** Aborted when the client gives up, or the key is revoked. */
  signal: AbortSignal;
  deps: HttpDependencies;
  now(): Date;
};

/** `once`: calls that share it, and differ in nothing, have their effect once. */
export type AskOptions = { once?: string | undefined };

/** `text`: short, for a model; what strangers wrote is fenced in it. `structured`: the same as data. */
export type ToolResult = { text: string; structured: Record<string, unknown> };
