import { until } from "../support/client.ts";
import type { BenchInstance } from "./instance.ts";
import { sideBySide } from "./measure.ts";

const usualAgents = 8;

/** How many threads of an identity are answered at most, and by how many agents side by side. */
export type Answering = { identityId: string; most: number; agents?: number | undefined };

/** Answers threads as agents and approvers do: draft, approve, send; resolves when the mails have left, with how many there were. */
export async function answerThreads(
  instance: BenchInstance,
  { identityId, most, agents = usualAgents }: Answering,
): Promise<number> {
  const threads = await listThreads(instance, identityId, most);
  const before = await sentSoFar(instance);
  await sideBySide(agents, async () => {
    for (let thread = threads.pop(); thread; thread = threads.pop()) await answer(instance, thread.id);
  });
  const wanted = before + threads.answered;
  await until("all replies sent", async () => (await sentSoFar(instance)) >= wanted, 300_000);
  return threads.answered;
}

const sentSoFar = (instance: BenchInstance): Promise<number> =>
  instance.count("select count(*) from read.drafts where status = 'sent'");

type Listed = { id: string }[] & { answered: number };

async function listThreads({ client }: BenchInstance, identityId: string, most: number): Promise<Listed> {
  const threads: { id: string }[] = [];
  for (let cursor: string | null = ""; cursor !== null && threads.length < most; ) {
    const at: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const page = await client.ask(`GET /v1/threads?identity_id=${identityId}&limit=100${at}`);
    threads.push(...page.data);
    cursor = page.next_cursor;
  }
  const chosen = threads.slice(0, most);
  return Object.assign(chosen, { answered: chosen.length });
}

async function answer({ client }: BenchInstance, threadId: string): Promise<void> {
  const thread = await client.ask(`GET /v1/threads/${threadId}`);
  const newest = thread.messages.filter((message: { direction: string }) => message.direction === "inbound").at(-1);
  const draft = await client.ask("POST /v1/drafts", {
    thread_id: thread.id,
    identity_id: thread.identity_id,
    based_on_message_id: newest.id,
    body_text: "Dear customer,\n\nyour parcel is in Leeds and arrives tomorrow.\n\nSupport",
    rationale: "The tracking page says so.",
  });
  await client.ask(`POST /v1/drafts/${draft.id}/approve`);
  await client.ask(`POST /v1/drafts/${draft.id}/send`);
}
