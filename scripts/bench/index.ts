import { cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { runUntilStopped } from "#src/lifecycle.ts";
import { createLogger } from "#src/logger.ts";
import type { Bench } from "./bench.ts";
import { type BenchServer, startServer } from "./server.ts";

const benches: Record<string, () => Promise<{ bench: Bench }>> = {
  append: () => import("./append.ts"),
  catchup: () => import("./catchup.ts"),
  visible: () => import("./visible.ts"),
  inbound: () => import("./inbound.ts"),
  "read-scale": () => import("./readScale.ts"),
  console: () => import("./console.ts"),
  "read-api": () => import("./readApi.ts"),
  "main-job": () => import("./mainJob.ts"),
  rules: () => import("./rules.ts"),
};

/** What `main-job` can be told to measure alone. */
const parts = ["mails", "replies"] as const;

/** Those that drive a whole service, wherever its log is. The others measure PostgreSQL's. */
const onAnyLog = ["inbound", "main-job", "rules"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    repetitions: { type: "string" },
    seconds: { type: "string" },
    threads: { type: "string" },
    mails: { type: "string" },
    replies: { type: "string" },
    agents: { type: "string" },
    only: { type: "string" },
    "event-store": { type: "string" },
    profile: { type: "string" },
    statements: { type: "boolean" },
  },
});
const eventStore = values["event-store"];
const names = positionals.length > 0 ? positionals : eventStore ? onAnyLog : Object.keys(benches);
const unknown = names.filter((name) => !(name in benches));
const { repetitions, seconds, threads, mails, replies, agents } = values;
const numbers = [repetitions, seconds, threads, mails, replies, agents].every(
  (value) => value === undefined || Number(value) > 0,
);
const misplaced = eventStore ? names.filter((name) => !onAnyLog.includes(name)) : [];
const only = parts.find((part) => part === values.only);
const isPart = only === values.only;
if (unknown.length > 0 || misplaced.length > 0 || !numbers || !isPart) {
  const options =
    "[--repetitions N] [--seconds N] [--threads N] [--mails N] [--replies N] [--agents N] [--only mails|replies] [--event-store stand-in|URL] [--profile FOLDER] [--statements]";
  console.error(`npm run bench -- [${Object.keys(benches).join(" | ")}] ${options}`);
  console.error(`--event-store goes with ${onAnyLog.join(", ")}`);
  process.exit(2);
}

let server: BenchServer | undefined;

await runUntilStopped({
  logger: createLogger("warn"),
  endWithParent: true,
  async start(end) {
    const [cpu] = cpus();
    const gigabytes = Math.round(totalmem() / 2 ** 30);
    console.log(
      `${cpus().length} x ${cpu?.model.trim()}, ${gigabytes} GB, Node ${process.version}; PostgreSQL on the same machine`,
    );
    if (eventStore)
      console.log(
        `the log is in EventStoreDB: ${eventStore === "stand-in" ? "the tests' stand-in" : "the server named"}`,
      );
    server = await startServer(createLogger("warn"), {
      ...{ eventStore, profileInto: values.profile, statements: values.statements },
    });
    runAll(server).then(
      () => end("done"),
      (error) => {
        console.error(error);
        process.exitCode = 1;
        end("failed");
      },
    );
  },
  async drain() {},
  lastly: async () => server?.stop(),
});

async function runAll(on: BenchServer): Promise<void> {
  for (const name of names) {
    const { bench } = await benches[name]!();
    console.log(`\n${bench.title}`);
    const rounds = whole(repetitions) ?? bench.repetitions;
    const summary = await bench.run({
      ...{ server: on, repetitions: rounds, seconds: seconds === undefined ? undefined : Number(seconds), only },
      ...{ threads: whole(threads), mails: whole(mails), replies: whole(replies), agents: whole(agents) },
    });
    console.log(JSON.stringify({ bench: name, date: new Date().toISOString(), repetitions: rounds, ...summary }));
  }
}

function whole(given: string | undefined): number | undefined {
  return given === undefined ? undefined : Math.max(1, Math.round(Number(given)));
}
