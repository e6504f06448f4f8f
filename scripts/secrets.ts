import { randomUUID } from "node:crypto";
import { countSecrets, resealSecrets } from "#src/commands/secrets/resealing.ts";
import type { Composition } from "#src/compose.ts";
import { besideService } from "./support/beside.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { progressBar } from "./support/progress.ts";

const usage = `The encrypted secrets: channel tokens, webhook and rule secrets, domain signing keys. Works beside a running service.

  npm run secrets -- status     how many are encrypted with each key of SECRETS_KEYS
  npm run secrets -- rotate     encrypts all of them with the first key

To replace a key: put a new one first (SECRETS_KEYS=new:…,old:…), restart every instance, and run rotate. Wait a day, until no older Idempotency-Key
is kept any more, then remove the old key. Replies to mail sent under the old key are then matched by their other references.`;

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
  if (!run) throw new Misuse("Give a command.");
  console.log(JSON.stringify(await besideService(run), null, 2));
});
