import { randomUUID } from "node:crypto";
import { countSecrets, resealSecrets } from "#src/commands/secrets/resealing.ts";
import type { Composition } from "#src/compose.ts";
import { besideService } from "./support/beside.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { progressBar } from "./support/progress.ts";

const usage = `The secrets that are kept sealed: channels' tokens, webhooks' and rules' secrets, domains' signing keys. Works beside a running service.

  npm run secrets -- status     how many stand under each key of SECRETS_KEYS
  npm run secrets -- rotate     all of them under its first key

To replace a key: put a new one first (SECRETS_KEYS=new:…,old:…), restart every instance, rotate. A day later, when no Idempotency-Key of
before is kept any more, the old one can go. Answers to mail that was sent under it are then found by what else they refer to.`;

type Run = (composition: Composition) => Promise<unknown>;

const commands: Record<string, Run> = {
  status: async ({ deps }) => ({ secrets: Object.fromEntries(await counted(deps)) }),
  async rotate({ deps }) {
    const id = randomUUID();
    const actor = { kind: "operator", id: "npm run secrets" } as const;
    const cause = { actor, workspaceId: null, correlationId: id, causationId: id };
    const { resealed, unopened } = await shown("re-sealing", (onProgress) => resealSecrets(deps, cause, onProgress));
    if (unopened.length > 0) process.exitCode = 1;
    return { streams_resealed: resealed, cannot_be_opened: unopened, secrets: Object.fromEntries(await counted(deps)) };
  },
};

const counted = (deps: Composition["deps"]) => shown("looking", (onProgress) => countSecrets(deps, onProgress));

async function shown<T>(
  label: string,
  work: (onProgress: (done: number, of: number) => void) => Promise<T>,
): Promise<T> {
  let bar: ReturnType<typeof progressBar> | undefined;
  try {
    return await work((done, of) => {
      bar ??= progressBar(label, of, "streams");
      bar.update(done, 1);
    });
  } finally {
    bar?.stop();
  }
}

await runCommand(usage, async () => {
  const [command = "", ...rest] = process.argv.slice(2);
  const run = Object.hasOwn(commands, command) && rest.length === 0 ? commands[command] : undefined;
  if (!run) throw new Misuse("Say what to do.");
  console.log(JSON.stringify(await besideService(run), null, 2));
});
