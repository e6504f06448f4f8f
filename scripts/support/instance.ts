import { fileURLToPath } from "node:url";
import { type ServiceProcess, startProcess } from "./serviceProcess.ts";

/** Node flags of `npm start` and of the image. */
export const serviceFlags = ["--max-semi-space-size=8"];
/** Environment of the image. */
export const serviceEnvironment = {
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_THRESHOLD_: "262144",
  MALLOC_TRIM_THRESHOLD_: "2097152",
};

const noLimits = ["READ", "WRITE", "SEND", "NOTIFY", "TEST_EMAIL", "BAD_KEY"].map((kind) => [
  `RATE_LIMIT_${kind}`,
  "off",
]);

/**
 * Starts the service as in production, without rate limits: for the demo, the screenshots and the benchmarks. `flags`: for Node itself.
 */
export const startInstance = (
  environment: Record<string, string>,
  flags: readonly string[] = [],
): Promise<ServiceProcess> =>
  startProcess({
    cwd: fileURLToPath(new URL("../../", import.meta.url)),
    flags: [...serviceFlags, ...flags],
    inherited: { ...serviceEnvironment, ...process.env },
    env: {
      npm_lifecycle_event: "",
      // An address without a DNS server, so that no outside host is queried.
      DNS_SERVERS: "127.0.0.1:9",
      SERVICE_MAIL_PER_HOUR: "off",
      ...Object.fromEntries(noLimits),
      ...environment,
    },
  });
