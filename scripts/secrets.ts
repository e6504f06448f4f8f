import { randomUUID } from "node:crypto";
import { countSecrets, resealSecrets } from "#src/commands/secrets/rotate.ts";
import type { Composition } from "#src/compose.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";
import { progressBar } from "./support/progress.ts";

const usage = `The encrypted secrets: channel tokens, webhook and rule secrets, domain signing keys. Works beside a running service.

  npm run secrets -- status     how many are encrypted with each key of SECRETS_KEYS
  npm run secrets -- rotate     encrypts all of them with the first key

To replace a key, in two steps, so that no instance meets a key that it does not have: add the new one last (SECRETS_KEYS=old:…,new:…) and restart
every instance; put it first (SECRETS_KEYS=new:…,old:…), restart every instance, and run rotate. Leave the old key in its place for a week or
longer: without it, bounces of mail sent under it, replies to approval mail and the codes of open approval mails are not recognised. Replies of customers find their thread all the same.`;

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
  console.log(JSON.stringify(await withComposition(run), null, 2));
});
