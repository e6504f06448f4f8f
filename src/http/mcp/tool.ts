import type { Static, TObject } from "typebox";
import type { HttpDependencies } from "../dependencies.ts";
import type { RouteCall } from "../framework/inProcess.ts";
import type { Scope } from "../framework/keys/scopes.ts";
import type { Reply } from "../framework/reply.ts";
import type { LimitClass, RouteLine } from "../framework/route.ts";
import type { Answers } from "../routes.ts";

/** One MCP tool. */
export type Tool = {
  name: string;
  title: string;
  /** Tells the model when to use the tool, what it does, and what it never does. */
  description: string;
  /** Scopes that a key needs to see the tool. */
  scopes: readonly Scope[];
  /** Made from the schemas of the routes that the tool calls. */
  input: TObject;
  /** True if an argument that is left out keeps a stored value: "" then removes a text, and null is refused. */
  revises?: boolean;
  /** The rate limit class of its calls. */
  limit: LimitClass;
  annotations: Record<"readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint", boolean>;
  /** Throws Rejected or Unavailable: the runner reports them to the model with advice on the next step. */
  run(call: ToolCall): Promise<ToolResult>;
};

/** Declares a tool; its arguments have the types of `input` and are checked against it before it runs. */
export const tool = <const I extends TObject>(
  made: Omit<Tool, "input" | "run"> & { input: I; run(call: ToolCall<Static<I>>): Promise<ToolResult> },
): Tool => ({ ...made, run: (call) => made.run(call as ToolCall<Static<I>>) });

export type ToolCall<Args = unknown> = {
  /** Arguments as declared by `input`. */
  args: Args;
  workspaceId: string;
  keyId: string;
  scopes: readonly string[];
  /** Calls a route under the key's scopes and the route's own rules, and returns its JSON answer. */
  ask<L extends keyof Answers>(line: L, call?: RouteCall, options?: AskOptions): Promise<Answers[L]>;
  askRaw(line: RouteLine, call?: RouteCall): Promise<Reply>;
  /** Sends progress to a client that asked for it. */
  progress(message: string): Promise<void>;
  /** Aborted when the client cancels, or the key is revoked. */
  signal: AbortSignal;
  deps: HttpDependencies;
  now(): Date;
};

/** `once`: calls with the same value and content have their effect once. */
export type AskOptions = { once?: string | undefined };

/** `text`: short, for a model; text by others is fenced. `structured`: the same as data. */
export type ToolResult = { text: string; structured: Record<string, unknown> };
