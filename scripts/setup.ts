import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { parse } from "dotenv";
import { loadConfig } from "#src/config.ts";
import { runCommand } from "./support/command.ts";
import { fileIsThere, writeEnvFile } from "./support/envFile.ts";
import { type Answers, envOf, questions } from "./support/setupAnswers.ts";

const usage = `Writes a file .env for docker compose, with made secrets, readable for you alone.

  npm run setup -- [--domain HOST] [--mail-provider smtp|sendgrid|outbox] [--smtp-url URL] [--sendgrid-api-key KEY]
                   [--approvals-from EMAIL] [--operator EMAIL] [--event-store] [--file FILE] [--overwrite]

It asks for what no option names; without a terminal it takes what is usual, and refuses where nothing is.
--event-store puts the event log into EventStoreDB in place of PostgreSQL: choose before the first start.
A file that is there is left alone. --overwrite replaces it, and keeps its secrets and all that is not asked for.`;

const options = {
  ...Object.fromEntries(questions.map(({ flag }) => [flag, { type: "string" } as const])),
  "event-store": { type: "boolean", default: false },
  file: { type: "string", default: ".env" },
  overwrite: { type: "boolean", default: false },
} as const;

await runCommand(usage, async () => {
  const { values } = parseArgs({ options });
  const { file, overwrite, "event-store": eventStore } = values;
  const before = await contentOf(file);
  if (before !== undefined && !overwrite) throw fileIsThere(file);
  const answers = await answered(values as Partial<Answers>);
  const env = envOf(answers, { before: before ?? {}, eventStore });
  loadConfig(env);
  await writeEnvFile(file, env, { overwrite: before !== undefined });
  console.log(next(file, env));
});

async function contentOf(file: string): Promise<Record<string, string> | undefined> {
  try {
    return parse(await readFile(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** The given answers, and those of the person at the terminal. An empty one is left to `loadConfig` to refuse. */
async function answered(given: Partial<Answers>): Promise<Partial<Answers>> {
  const answers = { ...given };
  const terminal = process.stdin.isTTY ? createInterface({ input: process.stdin, output: process.stdout }) : undefined;
  for (const { flag, text, usual, onlyIf } of questions) {
    if (answers[flag] !== undefined || onlyIf?.(answers) === false) continue;
    const otherwise = usual(answers);
    const typed = await terminal?.question(`${text}${otherwise ? ` [${otherwise}]` : ""}: `);
    answers[flag] = typed?.trim() || otherwise || "";
  }
  terminal?.close();
  return answers;
}

function next(file: string, { PUBLIC_URL, INBOUND_MX_HOST }: Record<string, string>): string {
  return `${file} is written.

Next:
  1. DNS: an A record (AAAA for IPv6) of ${INBOUND_MX_HOST} that leads to this machine, whose ports 80, 443 and 25 can be reached.
  2. docker compose up -d
  3. docker compose exec countersign node scripts/run.mjs workspace create --name NAME --plan pro --owner EMAIL
     prints an API key and a link, with which the owner chooses a password.
  4. ${PUBLIC_URL} in the browser.
Keep a copy of ${file} where your backups are: without its SECRETS_KEYS, kept secrets cannot be read.`;
}
