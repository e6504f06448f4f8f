import { Router } from "express";
import type { Metrics } from "#src/platform/metrics/metrics.ts";
import { reply } from "../framework/reply.ts";
import { send } from "../framework/send.ts";
import { mayKnowDetails } from "../framework/trustedCallers.ts";
import { partsAsText } from "./metrics.ts";

/** A part of the service, and whether it works now. */
export type Readiness = { name: string; ok: boolean; detail?: string };

export type ReadinessCheck = () => Promise<Readiness | readonly Readiness[]>;

/** Milliseconds after which a check without result counts as failed. */
const checkTimeoutMs = 3_000;

/**
 * /healthz: this process answers. /readyz: 200 if every required part is ready; otherwise 503, naming those that are not. /metrics: all
 * metrics. Callers from outside see only which parts are ready, unless they have the token.
 */
export function healthRoutes(
  checks: readonly ReadinessCheck[],
  { metrics, metricsToken }: { metrics?: Pick<Metrics, "shown"> | undefined; metricsToken?: string | undefined },
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/healthz", (_, response) => send(response, reply({ json: { status: "ok" } })));
  router.get("/readyz", async (request, response) => {
    const outcomes = await outcomesOf(checks);
    const broken = namesOfBroken(outcomes);
    const parts = mayKnowDetails(request, metricsToken) ? outcomes : outcomes.map(({ name, ok }) => ({ name, ok }));
    const json = { status: broken.length === 0 ? "ready" : "not_ready", not_ready: broken, parts };
    await send(response, reply({ status: broken.length === 0 ? 200 : 503, json }));
  });
  if (!metrics) return router;
  router.get("/metrics", async (request, response) => {
    const { contentType, text } = mayKnowDetails(request, metricsToken)
      ? await metrics.shown()
      : { contentType: textFormat, text: partsAsText(await outcomesOf(checks)) };
    await send(response, reply({ bytes: Buffer.from(text), headers: { "Content-Type": contentType } }));
  });
  return router;
}

/** Content type of Prometheus. */
const textFormat = "text/plain; version=0.0.4; charset=utf-8";

/** Names of the parts that do not work now. */
export const brokenParts = async (checks: readonly ReadinessCheck[]): Promise<string[]> =>
  namesOfBroken(await outcomesOf(checks));

const namesOfBroken = (parts: readonly Readiness[]): string[] => parts.filter(({ ok }) => !ok).map(({ name }) => name);

/** Milliseconds for which a result is shared by all callers. */
const freshMs = 1_000;

type CachedReadiness = { outcomes: Promise<Readiness[]>; until: number };

/** The last result of each list of checks, shared by all callers: the routes need no key, and checks query the log and the database. */
const lastAsked = new WeakMap<readonly ReadinessCheck[], CachedReadiness>();

function outcomesOf(checks: readonly ReadinessCheck[]): Promise<Readiness[]> {
  const last = lastAsked.get(checks);
  if (last && performance.now() < last.until) return last.outcomes;
  const outcomes = Promise.all(checks.map(faultsOf)).then((found) => found.flat());
  const asked: CachedReadiness = { outcomes, until: Number.POSITIVE_INFINITY };
  lastAsked.set(checks, asked);
  return outcomes.finally(() => {
    asked.until = performance.now() + freshMs;
  });
}

async function faultsOf(check: ReadinessCheck): Promise<readonly Readiness[]> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<Readiness>((resolve) => {
    timer = setTimeout(
      () => resolve({ name: check.name || "unnamed", ok: false, detail: "the check did not answer in time" }),
      checkTimeoutMs,
    );
  });
  const failed = (error: Error): Readiness => ({ name: check.name || "unnamed", ok: false, detail: error.message });
  return Promise.race([check().catch(failed), tooLong])
    .then((outcome) => [outcome].flat())
    .finally(() => clearTimeout(timer));
}
