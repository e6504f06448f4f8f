import { createWriter } from "../support/zipfMail.ts";
import type { Bench } from "./bench.ts";
import { askAll, startFilledWorkspace } from "./workspace.ts";

/** Reads lists and single resources over HTTP. */
export const bench: Bench = {
  size: 2_000,
  unit: "threads in the workspace",
  async run(server, size) {
    const workspace = await startFilledWorkspace(server, size);
    const { client } = workspace;
    const { random } = createWriter(1);
    const any = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
    const [threads, drafts, identities] = await Promise.all(
      ["threads", "drafts", "identities"].map(
        async (noun): Promise<string[]> =>
          (await client.ask(`GET /v1/${noun}?limit=100`)).data.map(({ id }: { id: string }) => id),
      ),
    );
    await askAll(server, { workspace, ask: (path) => client.ask(`GET ${path}`) }, [
      { what: "GET /v1/threads", path: () => "/v1/threads" },
      { what: "GET /v1/threads, of one identity", path: () => `/v1/threads?identity_id=${any(identities!)}` },
      { what: "GET /v1/threads, by priority", path: () => "/v1/threads?sort=priority" },
      { what: "GET /v1/threads/{id}", path: () => `/v1/threads/${any(threads!)}` },
      { what: "GET /v1/drafts", path: () => "/v1/drafts" },
      { what: "GET /v1/drafts/{id}", path: () => `/v1/drafts/${any(drafts!)}` },
      { what: "GET /v1/contacts", path: () => "/v1/contacts" },
    ]);
  },
};
