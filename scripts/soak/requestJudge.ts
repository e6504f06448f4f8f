import type { Document } from "#src/http/framework/openapi/openapi.ts";
import { createDocumentCheck } from "#test/support/documentCheck.ts";
import type { LogLine } from "../support/serviceProcess.ts";
import type { ReceivedResponse } from "./requestClient.ts";
import type { MadeRequest } from "./requestMaker.ts";

/** Milliseconds: SQL in our hostile strings sleeps for 20 s. */
const sleptMs = 18_000;
const insides = /node_modules|\bat \w+ \(|\.ts:\d|syntax error at|pg_catalog/;

/** Makes a function that returns what is wrong with an answer; undefined if nothing is. */
export function createJudge(document: Document): (made: MadeRequest, got: ReceivedResponse) => string | undefined {
  const check = createDocumentCheck(document);
  return (made, got) => {
    const { status, text, tookMs } = got;
    const said = text.slice(0, 400);
    if (status >= 500 && !isNoProcessor(got)) return `${status} ${said}`;
    if (status >= 400 && insides.test(said)) return `shows its inside: ${said}`;
    if (tookMs > sleptMs && /pg_sleep/.test(made.url + made.body)) return `took ${Math.round(tookMs)} ms: SQL ran`;
    const fault = status >= 400 ? envelopeFault(text) : undefined;
    if (fault !== undefined) return `${status}: ${fault}: ${said}`;
    if (made.kind === "path" || (made.beforeRouting && [400, 431].includes(status))) return undefined;
    if (made.operation) return check.faultOf(`${made.operation.method} ${made.operation.path}`, got);
    return [401, 404].includes(status) || text.includes('"idempotency_') ? undefined : `${status} for no route`;
  };
}

/** True for the error of an installation without a payment processor. */
export const isNoProcessor = ({ status, text }: ReceivedResponse): boolean =>
  status === 502 && text.includes('"stripe_error"');

/**
 * True for a temporary refusal: a send waits at most a second for mail that is still being filed; then it is refused for now, so that it
 * does not overtake the customer's newest mail.
 */
export const isStillFiled = ({ status, headers }: ReceivedResponse, reason: string): boolean =>
  status === 503 && headers["retry-after"] !== undefined && reason.includes("is still being filed");

/** Returns the error that the service logged about a request. */
export function reasonIn(logs: readonly LogLine[], text: string): string {
  const id = /"request_id":"([^"]+)"/.exec(text)?.[1];
  const line = logs.find((each) => each.err !== undefined && JSON.stringify(each).includes(id ?? " none"));
  return line ? ` ${JSON.stringify(line.err).slice(0, 600)}` : "";
}

function envelopeFault(text: string): string | undefined {
  try {
    const { error, message, request_id } = JSON.parse(text);
    if (typeof error !== "string" || typeof request_id !== "string") return "no envelope";
    if (typeof message !== "string" || message.length < 10) return "no sentence";
    return error === "invalid_request" && !/[:"]| body|request|headers/.test(message) ? "names no field" : undefined;
  } catch {
    return "no JSON";
  }
}
