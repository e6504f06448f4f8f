import Type from "typebox";
import type { Reply } from "../reply.ts";
import type { Route } from "../route.ts";
import { compileAnswerCheck } from "../validation/validation.ts";
import { ErrorBody } from "./errorBody.ts";
import { errorsOf } from "./errorCodes.ts";

const errorFault = compileAnswerCheck(Type.Object(ErrorBody.properties, { additionalProperties: false }));

/** Describes how an answer differs from its OpenAPI document in status, error code, body or headers; undefined if it does not. */
export function undocumented(route: Route, { status = 200, headers, content }: Reply): string | undefined {
  const line = `${route.method} ${route.path}`;
  if (status < 400) {
    const documented = route.options.status ?? 200;
    if (status !== documented) return `${line} answered ${status}; its route says ${documented}`;
    const fault = "json" in content ? route.answerFault(JSON.parse(JSON.stringify(content.json) ?? "null")) : undefined;
    return fault && `${line} sent an undocumented response: ${fault}`;
  }
  if (!("json" in content)) return `${line} answered ${status} without an error body`;
  const body = JSON.parse(JSON.stringify(content.json));
  const fault = errorFault(body);
  if (fault !== undefined) return `${line} answered ${status} with a body that is not an error: ${fault}`;
  if (!errorsOf(route).some((error) => error.status === status && error.code === body.error)) {
    return `${line} answered ${status} ${body.error}, which its route does not list among its errors`;
  }
  if ((status === 429 || status === 503) && headers["Retry-After"] === undefined)
    return `${line} answered ${status} without Retry-After`;
  return undefined;
}

/** Returns the answer; throws if it differs from its OpenAPI document. */
export function requireDocumented(route: Route, reply: Reply): Reply {
  const fault = undocumented(route, reply);
  if (fault !== undefined) throw new Error(fault);
  return reply;
}
