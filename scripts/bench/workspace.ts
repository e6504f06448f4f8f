import { type BenchDatabase, type BenchServer, concurrently, progress } from "./bench.ts";
import { runCommand, type Service, startService, untilAtLeast } from "./service.ts";

/** A service whose only workspace has a year of made-up mail. */
export type Workspace = Service & { workspaceId: string };

const projected = "select coalesce(min(position), 0) from work.checkpoints";
const head = "select max(position) from es.events";

/** Makes the workspace with `npm run scale`. `start` starts a service on it, whose read models are empty at first. */
async function makeWorkspace(
  server: BenchServer,
  threads: number,
): Promise<{ database: BenchDatabase; start(): Promise<Workspace> }> {
  progress(`making a workspace of ${threads} threads`);
  const database = await server.database();
  const made = await runCommand(server, database, ["--import", "tsx", "scripts/scale.ts", "--threads", `${threads}`]);
  const { workspace_id: workspaceId, api_key: apiKey } = JSON.parse(made);
  // Without the role `processes`: they must do nothing about mail that never arrived.
  const settings = { apiKey, ROLES: "api,projections" };
  return { database, start: async () => ({ ...(await startService(server, database, settings)), workspaceId }) };
}

/** Waits until the read models have reached the end of the log. Returns the number of its events. */
async function catchUp({ database }: Service): Promise<number> {
  const events = await database.number(head);
  await untilAtLeast(database, events, projected);
  return events;
}

/** Makes the workspace and measures how its read models are filled, from the start of the service on. */
export async function measureFill(server: BenchServer, threads: number): Promise<Workspace> {
  const { database, start } = await makeWorkspace(server, threads);
  const service = { pid: 0, database };
  let workspace: Workspace | undefined;
  await server.measure("event into all read models", service, async () => {
    workspace = await start();
    service.pid = workspace.pid;
    return catchUp(workspace);
  });
  return workspace!;
}

/** Makes the workspace and waits until its read models are filled. */
export async function startFilledWorkspace(server: BenchServer, threads: number): Promise<Workspace> {
  const workspace = await (await makeWorkspace(server, threads)).start();
  progress("filling the read models");
  await catchUp(workspace);
  await workspace.database.number("vacuum analyze");
  return workspace;
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
