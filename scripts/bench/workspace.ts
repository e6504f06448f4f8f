import { type Client, createClient } from "../support/client.ts";
import { type BenchDatabase, type BenchServer, concurrently, progress } from "./bench.ts";
import { runCommand, type Service, startService, untilAtLeast } from "./service.ts";

/** A year of made-up mail: its threads are shared out among the workspaces. */
export type MadeMail = { threads: number; workspaces: number };

/** A service with made-up mail. `clients`: one for each workspace. */
type MailService = Service & { clients: readonly Client[] };

/** A service whose only workspace has made-up mail. */
export type Workspace = Service & { workspaceId: string };

const projected = "select coalesce(min(position), 0) from work.checkpoints";
const head = "select max(position) from es.events";

/** Makes the workspaces with `npm run scale`. `start` starts a service on them, whose read models are empty at first. */
async function makeWorkspaces(
  server: BenchServer,
  mail: MadeMail,
): Promise<{ database: BenchDatabase; workspaceIds: string[]; start(): Promise<MailService> }> {
  const [threads, workspaces] = [`${mail.threads}`, `${mail.workspaces}`];
  progress(`making ${threads} threads in ${workspaces} workspaces`);
  const database = await server.database();
  const command = ["--import", "tsx", "scripts/scale.ts", "--threads", threads, "--workspaces", workspaces];
  const lines = (await runCommand(server, database, command)).trim().split("\n");
  const made: { workspace_id: string; api_key: string }[] = lines.map((line) => JSON.parse(line));
  // Without the role `processes`: they must do nothing about mail that never arrived.
  const settings = { apiKey: made[0]!.api_key, ROLES: "api,projections" };
  return {
    database,
    workspaceIds: made.map(({ workspace_id }) => workspace_id),
    async start() {
      const service = await startService(server, database, settings);
      return { ...service, clients: made.map(({ api_key }) => createClient({ ...service, apiKey: api_key })) };
    },
  };
}

/** Waits until the read models have reached the end of the log. Returns the number of its events. */
async function catchUp({ database }: Service): Promise<number> {
  const events = await database.number(head);
  await untilAtLeast(database, events, projected);
  return events;
}

/** Makes the mail and measures how the read models are filled, from the start of the service on. */
export async function measureFill(server: BenchServer, mail: MadeMail): Promise<MailService> {
  const { database, start } = await makeWorkspaces(server, mail);
  const subject = { pid: 0, database };
  let service: MailService | undefined;
  await server.measure("event into all read models", subject, async () => {
    service = await start();
    subject.pid = service.pid;
    return catchUp(service);
  });
  return service!;
}

/** Makes the workspace and waits until its read models are filled. */
export async function startFilledWorkspace(server: BenchServer, threads: number): Promise<Workspace> {
  const { start, workspaceIds } = await makeWorkspaces(server, { threads, workspaces: 1 });
  const service = await start();
  progress("filling the read models");
  await catchUp(service);
  await service.database.number("vacuum analyze");
  return { ...service, workspaceId: workspaceIds[0]! };
}

/** A kind of request; `path` may differ each time. */
export type BenchQuestion = { what: string; path(): string };

const [askers, warmUps, asked] = [4, 50, 200];

/** Sends each kind of request separately, four at a time. */
export async function askAll(
  server: BenchServer,
  { workspace, ask }: { workspace: Workspace; ask: (path: string) => Promise<unknown> },
  questions: readonly BenchQuestion[],
): Promise<void> {
  for (const { what, path } of questions) {
    await concurrently(askers, warmUps, () => ask(path()));
    await server.measure(what, workspace, () => concurrently(askers, asked, () => ask(path())));
  }
}
