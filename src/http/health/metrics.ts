import type { Request, RequestHandler } from "express";
import type { Metrics } from "#src/platform/metrics/metrics.ts";
import { clientGone } from "../framework/logging.ts";

/** Measures every request until its answer is sent or its connection closed. */
export const measureRequests =
  (metrics: Pick<Metrics, "answered">): RequestHandler =>
  (request, response, next) => {
    const begun = performance.now();
    response.once("close", () => {
      const status = response.headersSent ? response.statusCode : clientGone;
      const measured = { method: methodOf(request), route: routeOf(request), status };
      metrics.answered(measured, (performance.now() - begun) / 1000);
    });
    next();
  };

/** Unknown methods become "other": series are kept forever, so strangers must not be able to create new ones. */
const methodOf = ({ method }: Request): string => (knownMethods.includes(method) ? method : "other");
const knownMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const routeOf = (request: Request): string => (request.route as { path?: string } | undefined)?.path ?? "unknown";

/** Readiness of the parts in Prometheus's format: all that callers without the token see. */
export const partsAsText = (parts: readonly { name: string; ok: boolean }[]): string =>
  [
    "# HELP countersign_part_ready 1 while the part can do its work, otherwise 0.",
    "# TYPE countersign_part_ready gauge",
    ...parts.map(({ name, ok }) => `countersign_part_ready{part="${name}"} ${ok ? 1 : 0}`),
    "",
  ].join("\n");
