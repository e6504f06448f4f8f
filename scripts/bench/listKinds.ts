import type { Client } from "../support/client.ts";
import { createWriter } from "../support/zipfMail.ts";
import type { BenchQuestion } from "./workspace.ts";

const dayMs = 86_400_000;

/** Kinds of lists and single reads in a workspace, with ids that it has. */
export async function listKinds(client: Client): Promise<BenchQuestion[]> {
  const { random } = createWriter(1);
  const any = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
  const [threads, drafts, identities] = await Promise.all(
    ["threads", "drafts", "identities"].map(
      async (noun): Promise<string[]> =>
        (await client.ask(`GET /v1/${noun}?limit=100`)).data.map(({ id }: { id: string }) => id),
    ),
  );
  const second = `/v1/threads?cursor=${encodeURIComponent((await client.ask("GET /v1/threads")).next_cursor)}`;
  const daysAgo = (days: number): string => new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);
  return [
    { what: "GET /v1/threads", path: () => "/v1/threads" },
    { what: "GET /v1/threads, second page", path: () => second },
    { what: "GET /v1/threads, of one identity", path: () => `/v1/threads?identity_id=${any(identities!)}` },
    { what: "GET /v1/threads, of one status", path: () => `/v1/threads?status=${any(["open", "waiting", "closed"])}` },
    { what: "GET /v1/threads, by priority", path: () => "/v1/threads?sort=priority" },
    { what: "GET /v1/threads, of one priority", path: () => `/v1/threads?priority=${any(["low", "high", "urgent"])}` },
    { what: "GET /v1/threads, to be reviewed", path: () => "/v1/threads?needs_review=true" },
    {
      what: "GET /v1/threads, of a period",
      path: () => `/v1/threads?from_date=${daysAgo(300)}&to_date=${daysAgo(100)}`,
    },
    { what: "GET /v1/threads/{id}", path: () => `/v1/threads/${any(threads!)}` },
    { what: "GET /v1/drafts", path: () => "/v1/drafts" },
    { what: "GET /v1/drafts, of one status", path: () => `/v1/drafts?status=${any(["pending", "sent"])}` },
    { what: "GET /v1/drafts/{id}", path: () => `/v1/drafts/${any(drafts!)}` },
    { what: "GET /v1/contacts", path: () => "/v1/contacts" },
    { what: "GET /v1/inbound", path: () => "/v1/inbound" },
  ];
}
