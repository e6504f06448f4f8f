import type { Bench } from "./bench.ts";
import { listKinds } from "./listKinds.ts";
import { askAll, startFilledWorkspace } from "./workspace.ts";

/** Reads lists and single resources over HTTP, one kind after the other. */
export const bench: Bench = {
  size: 2_000,
  unit: "threads in the workspace",
  async run(server, size) {
    const workspace = await startFilledWorkspace(server, size);
    const { client } = workspace;
    await askAll(server, { workspace, ask: (path) => client.ask(`GET ${path}`) }, await listKinds(client));
  },
};
