import type { Request, RequestHandler } from "express";
import type { Metrics } from "#src/platform/metrics/metrics.ts";
import { clientGone } from "../framework/logging.ts";

/** Times every request until its answer is out, or its connection gone. */
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

/** Every series is kept permanently: requests for unknown methods or routes must not create new ones. */
const methodOf = ({ method }: Request): string => (knownMethods.includes(method) ? method : "other");
const knownMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const routeOf = (request: Request): string => (request.route as { path?: string } | undefined)?.path ?? "unknown";

/** Which parts are ready, for the collector: all that a stranger is told. */
export const partsAsText = (parts: readonly { name: string; ok: boolean }[]): string =>
  [
    "# HELP countersign_part_ready 1 while the part can do its work, otherwise 0.",
    "# TYPE countersign_part_ready gauge",
    ...parts.map(({ name, ok }) => `countersign_part_ready{part="${name}"} ${ok ? 1 : 0}`),
    "",
  ].join("\n");
