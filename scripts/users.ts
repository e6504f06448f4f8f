import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import type { Cause } from "#src/commands/handle.ts";
import { disableUser, enableUser, resetLink } from "#src/commands/users/operatorActions.ts";
import type { UserAccount } from "#src/commands/users/users.ts";
import type { Composition } from "#src/compose.ts";
import { readWholeLog } from "#src/eventStore/eventStore.ts";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";
import { createRevocation } from "#src/http/framework/keys/revocation.ts";
import { loadConfig } from "#src/settings/config.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { type Members, memberDecider } from "#streams/member/decider.ts";
import type { MemberEvent } from "#streams/member/events.ts";
import { type User, userDecider } from "#streams/user/decider.ts";
import type { UserEvent } from "#streams/user/events.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";
import { terminalJson } from "./support/terminalJson.ts";

const usage = `The people who sign in, for the operator. Works beside a running service.

  npm run users -- list
  npm run users -- reset-link --email EMAIL     a link by which they set a new password; nobody is mailed
  npm run users -- disable --email EMAIL        ends their sessions at once; they stay members, and cannot sign in
  npm run users -- enable --email EMAIL

The output is JSON. To invite somebody: npm run workspace -- invite.`;

type Run = (composition: Composition) => Promise<unknown>;

/** Parses the arguments to an action; throws Misuse before anything is changed. */
function read([command, ...rest]: string[]): Run {
  switch (command) {
    case "list":
      parseArgs({ args: rest, options: {}, strict: true });
      return list;
    case "reset-link": {
      const email = emailIn(rest);
      return async ({ deps }) => ({ email, reset: await resetLink(deps, email) });
    }
    case "disable": {
      const email = emailIn(rest);
      return (composition) => disable(composition, email);
    }
    case "enable": {
      const email = emailIn(rest);
      return async ({ deps }) => shown(await enableUser(deps, email, byOperator()));
    }
    default:
      throw new Misuse(command === undefined ? "Give a command." : `Unknown command: ${command}.`);
  }
}

function emailIn(args: string[]): string {
  const { email } = parseArgs({ args, options: { email: { type: "string" } }, strict: true }).values;
  if (email === undefined) throw new Misuse("--email is required.");
  return email;
}

/** Reads the log itself: a service that is stopped, or lags, would show older names. */
async function list({ store }: Composition): Promise<unknown> {
  const operators = loadConfig().operatorEmails.map((email) => email.toLowerCase());
  const users = new Map<string, User>();
  const workspaces = new Map<string, Members>();
  for await (const { events } of readWholeLog(store, ["user", "member"])) {
    for (const event of events) {
      const id = idOf(event.stream);
      if (event.stream.startsWith("user-")) {
        users.set(id, userDecider.evolve(users.get(id) ?? userDecider.initial, event as Recorded<UserEvent>));
      } else {
        const before = workspaces.get(id) ?? memberDecider.initial;
        workspaces.set(id, memberDecider.evolve(before, event as Recorded<MemberEvent>));
      }
    }
  }
  return [...users].map(([id, { email, name, disabled, isConfirmed }]) => ({
    ...{ user_id: id, email, name, disabled },
    // An unconfirmed address is no proof of who the person is.
    operator: isConfirmed && email !== null && operators.includes(email.toLowerCase()),
    workspaces: [...workspaces].flatMap(([workspaceId, { members }]) =>
      members
        .filter(({ userId }) => userId === id)
        .map(({ memberId, role }) => ({ workspace_id: workspaceId, member_id: memberId, role })),
    ),
  }));
}

async function disable({ deps, database }: Composition, email: string): Promise<unknown> {
  const { person, ended } = await disableUser(deps, email, byOperator());
  const own = { database, instanceId: randomUUID(), inFlight: createRequestsInFlight(), clock: deps.clock };
  const revocation = createRevocation(own);
  try {
    const drained = await Promise.all(ended.map((session) => revocation.drain(session, {})));
    if (drained.includes(false))
      console.error("A request that was under way in one of their sessions has not ended yet.");
  } finally {
    await revocation.stop();
  }
  return { ...shown(person), sessions_ended: ended.length };
}

const shown = ({ userId, email, name, disabled }: UserAccount) => ({ user_id: userId, email, name, disabled });

function byOperator(): Cause {
  const requestId = randomUUID();
  const actor = { kind: "operator", id: "npm run users" } as const;
  return { actor, workspaceId: null, correlationId: requestId, causationId: requestId };
}

await runCommand(usage, async () => {
  const run = read(process.argv.slice(2));
  await withComposition(async (composition) => console.log(terminalJson(await run(composition), 2)));
});
