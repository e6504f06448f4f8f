import type { Bench } from "./bench.ts";
import { searchKinds } from "./searchKinds.ts";
import { askAll, startFilledWorkspace } from "./workspace.ts";

/** Searches threads, one kind of search after the other. */
export const bench: Bench = {
  size: 2_000,
  unit: "threads in the workspace",
  async run(server, size) {
    const workspace = await startFilledWorkspace(server, size);
    const ask = (path: string) => workspace.client.ask(`GET ${path}`);
    await askAll(server, { workspace, ask }, searchKinds(size));
  },
};
