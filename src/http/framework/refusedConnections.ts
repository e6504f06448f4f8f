import type { Logger } from "pino";
import type { HttpRefusal, Metrics } from "#src/platform/metrics/metrics.ts";

const saidEveryMs = 60_000;

/** Counts refused connections, and logs once a minute how many there were since the last log line and the address of the newest. */
export function logRefusedConnections({
  metrics,
  logger,
  now = Date.now,
}: {
  metrics: Pick<Metrics, "httpRefused">;
  logger: Pick<Logger, "warn">;
  now?: () => number;
}): (reason: HttpRefusal, remote: string) => void {
  let quietUntil = 0;
  let refused = 0;
  return (reason, remote) => {
    metrics.httpRefused(reason);
    refused += 1;
    if (now() < quietUntil) return;
    logger.warn({ remote, reason, refused }, "connections to HTTP beyond HTTP_CONNECTIONS are refused");
    quietUntil = now() + saidEveryMs;
    refused = 0;
  };
}
