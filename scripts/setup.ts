import { readFile } from "node:fs/promises";
import { createInterface, type Interface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { parse } from "dotenv";
import { Value } from "typebox/value";
import { StartError } from "#src/platform/startError.ts";
import { loadConfig } from "#src/settings/config.ts";
import { expectedOf, valueIn } from "#src/settings/settingKinds.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { fileIsThere, writeEnvFile } from "./support/envFile.ts";
import { envOf, questions, type SetupAnswers, type SetupQuestion } from "./support/setupAnswers.ts";

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
  const answers = await answered(values as Partial<SetupAnswers>);
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

/** Returns the given answers, and asks the person at the terminal for the others. `loadConfig` refuses an empty one later. */
async function answered(given: Partial<SetupAnswers>): Promise<Partial<SetupAnswers>> {
  const answers = { ...given };
  const terminal = process.stdin.isTTY ? createInterface({ input: process.stdin, output: process.stdout }) : undefined;
  try {
    for (const question of questions) {
      const { flag, takes, onlyIf } = question;
      const answer = answers[flag];
      if (answer && !isRight(question, answer)) throw new Misuse(`--${flag}: expected ${expectedOf(takes)}.`);
      if (answer !== undefined || onlyIf?.(answers) === false) continue;
      const usual = question.usual(answers);
      answers[flag] = terminal ? await typed(terminal, question, usual) : (usual ?? "");
    }
  } finally {
    terminal?.close();
  }
  return answers;
}

/** Asks for an answer until it is valid; an empty one selects the usual answer. */
async function typed(terminal: Interface, question: SetupQuestion, usual: string | undefined): Promise<string> {
  for (;;) {
    const prompt = `${question.text}${usual ? ` [${usual}]` : ""}: `;
    const answer = (await terminal.question(prompt).catch(stopAsking)).trim() || usual;
    if (answer === "" || (answer !== undefined && isRight(question, answer))) return answer;
    console.log(`Expected ${expectedOf(question.takes)}.`);
  }
}

function isRight({ takes }: SetupQuestion, answer: string): boolean {
  return Value.Check(takes, valueIn(answer, takes));
}

function stopAsking(error: NodeJS.ErrnoException): never {
  throw error.code === "ABORT_ERR" ? new StartError("\nNothing is written.") : error;
}

function next(file: string, { PUBLIC_URL, INBOUND_MX_HOST }: Record<string, string>): string {
  const dns = `DNS: an A record (AAAA for IPv6) of ${INBOUND_MX_HOST} that leads to this machine, whose ports 80, 443 and 25 can be reached;
     and for each domain that mail comes in for an MX record that names ${INBOUND_MX_HOST}.`;
  const steps = [
    ...(INBOUND_MX_HOST === "localhost" ? [] : [dns]),
    "docker compose up -d",
    `docker compose exec countersign node scripts/run.mjs workspace create --name NAME --plan pro --owner EMAIL
     prints an API key and a link, with which the owner chooses a password.`,
    `${PUBLIC_URL} in the browser.`,
  ];
  return `${file} is written.

Next:
${steps.map((step, index) => `  ${index + 1}. ${step}`).join("\n")}
Keep a copy of ${file} where your backups are: without its SECRETS_KEYS, kept secrets cannot be read.`;
}
