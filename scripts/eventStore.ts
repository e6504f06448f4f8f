import { prepareServiceUser } from "#src/eventStore/eventStoreDb/serviceUser.ts";
import { StartError } from "#src/platform/startError.ts";
import { Misuse, runCommand } from "./support/command.ts";

const usage = `The service's user on EventStoreDB. Once for each server, and again for another password; changes nothing where it is so already.

  npm run event-store -- user

Makes the user that EVENT_STORE_URL names, with its password. Nobody but administrators can delete or truncate a stream after that.
The environment has two URLs of the same server: EVENT_STORE_URL, which the service will use, and EVENT_STORE_ADMIN_URL with the user admin.`;

async function run(args: string[]): Promise<void> {
  const [command, ...rest] = args;
  if (command !== "user" || rest.length > 0)
    throw new Misuse(command === undefined ? "Give a command." : "Wrong arguments.");
  const { EVENT_STORE_URL: serviceUrl, EVENT_STORE_ADMIN_URL: adminUrl } = process.env;
  if (!serviceUrl || !adminUrl) throw new StartError("EVENT_STORE_URL and EVENT_STORE_ADMIN_URL have to be set.");
  if (/[?&]tls=false(&|$)/i.test(serviceUrl))
    return console.log("tls=false: a server without TLS has no users and no rights");
  const { user, created, rights } = await prepareServiceUser({ adminUrl, serviceUrl }).catch((error: Error) => {
    throw new StartError(`The user could not be prepared: ${error.message}.`);
  });
  console.log(`user ${user}: ${created ? "made" : "there already, with this password now"}; rights: ${rights}`);
}

await runCommand(usage, () => run(process.argv.slice(2)));
