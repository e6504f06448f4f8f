import { browserAt } from "#test/support/desk.ts";
import { commandArguments } from "../support/childProcess.ts";
import { createWriter } from "../support/zipfMail.ts";
import type { Bench, BenchServer } from "./bench.ts";
import { runCommand } from "./service.ts";
import { askAll, startFilledWorkspace, type Workspace } from "./workspace.ts";

/** Loads pages of the console as the workspace's owner. */
export const bench: Bench = {
  size: 2_000,
  unit: "threads in the workspace",
  async run(server, size) {
    const workspace = await startFilledWorkspace(server, size);
    const browser = await signIn(server, workspace);
    const writer = createWriter(size);
    const number = (below: number): number => Math.floor(writer.random() * below);
    const [threads, drafts] = await Promise.all(
      ["threads", "drafts"].map(async (noun) => (await workspace.client.ask(`GET /v1/${noun}?limit=100`)).data),
    );
    const ask = async (path: string): Promise<void> => {
      const { status } = await browser.get(path);
      if (status !== 200) throw new Error(`${path}: ${status}`);
    };
    await askAll(server, { workspace, ask }, [
      { what: "/review", path: () => "/review" },
      { what: "/threads", path: () => "/threads" },
      { what: "/threads, by priority", path: () => "/threads?sort=priority&status=open" },
      { what: "/threads, search", path: () => `/threads?q=${encodeURIComponent(writer.word(20 + number(20_000)))}` },
      { what: "/threads/{id}", path: () => `/threads/${threads[number(100)].id}` },
      { what: "/drafts/{id}", path: () => `/drafts/${drafts[number(100)].id}` },
    ]);
  },
};

/** Invites an owner, as an operator would, and accepts the invitation in a browser. */
async function signIn(
  server: BenchServer,
  { database, url, workspaceId }: Workspace,
): Promise<ReturnType<typeof browserAt>> {
  const invite = ["invite", "--workspace", workspaceId, "--email", "owner@bench.example"];
  const invited = await runCommand(server, database, [...commandArguments("workspace"), ...invite]);
  const [path, token] = /\/invitation\/([\w-]+)/.exec(invited)!;
  const browser = browserAt(url);
  await browser.get(path);
  const form = { token: token!, name: "Owner", password: "three blue lamps glow" };
  const { status, text } = await browser.post("/auth/invitations/accept", form);
  if (status !== 303) throw new Error(`the invitation was not accepted: ${status} ${text}`);
  return browser;
}
