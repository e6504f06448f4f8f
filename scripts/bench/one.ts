import { createLogger, logTo } from "#src/platform/logger.ts";
import { runUntilStopped } from "#src/start/lifecycle.ts";
import { startNoMore } from "../support/serviceProcess.ts";
import { progress, type Row } from "./bench.ts";
import { benches } from "./benches.ts";
import { startServer } from "./server.ts";

/** `one.ts NAME [SIZE]`: runs one benchmark in this process and prints its rows as JSON. Started by index.ts. */
const [name = "", size] = process.argv.slice(2);
const rows: Row[] = [];
let server: Awaited<ReturnType<typeof startServer>> | undefined;

await runUntilStopped({
  logger: createLogger("warn", logTo(2)),
  endWithParent: true,
  async start(end, ending) {
    const { bench } = await benches[name]!();
    progress(`${name}: ${size ?? bench.size} ${bench.unit}`);
    server = await startServer(rows);
    bench.run(server, Number(size ?? bench.size)).then(
      () => {
        console.log(JSON.stringify(rows));
        end("done");
      },
      (error) => {
        if (!ending.aborted) console.error(error);
        process.exitCode = 1;
        end("failed");
      },
    );
  },
  async drain() {
    startNoMore();
  },
  lastly: async () => server?.stop(),
});
