import { pino } from "pino";
import { startEmbeddedPostgres } from "#src/platform/embeddedPostgres/embeddedPostgres.ts";

/** A process that keeps the embedded server of a directory running, to be killed: `node --import tsx keepEmbedded.ts DATA_DIR`. */
const { serviceUrl, ownerUrl, pid } = await startEmbeddedPostgres({
  dataDir: process.argv[2] as string,
  logger: pino({ level: "silent" }),
});
process.send?.({ serviceUrl, ownerUrl, pid: pid() });
setInterval(() => {}, 60_000);
