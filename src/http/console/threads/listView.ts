import { identityNames } from "#projections/identities/queries.ts";
import { conversationLines } from "#projections/messages/queries.ts";
import type { Reads } from "#projections/reads.ts";
import type { WireThread } from "../../present/threads.ts";
import type { Answers } from "../../routes.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { pageLinksFrom, pageOwnNames } from "../framework/pageLinks.ts";
import type { ListedThread, NamedIdentity, ThreadsView } from "./threadsView.ts";

const pageSize = 40;

/** Reads the list that the URL asks for. If the API refuses a filter, its sentence is shown. */
export async function threadsView(
  { reads }: { reads: Reads },
  context: PageContext,
): Promise<ThreadsView & { refused: PageRefusal | undefined }> {
  const asked = [...context.query].filter(([name, value]) => value !== "" && !pageOwnNames.includes(name));
  const filters = Object.fromEntries(asked.filter(([name]) => name !== "cursor"));
  const maySeeIdentities = context.may("read:identities");
  let answer: Answers["GET /v1/threads"] | undefined;
  const [{ data: identities }, refused] = await Promise.all([
    maySeeIdentities ? context.ask("GET /v1/identities", { query: { limit: 100 } }) : { data: [] },
    context.attempt(async () => {
      answer = await context.ask("GET /v1/threads", { query: { limit: pageSize, ...Object.fromEntries(asked) } });
    }),
  ]);
  const view = { filters, identities, path: context.path, maySeeIdentities };
  if (!answer) return { ...view, refused, list: undefined };
  const ways = pageLinksFrom("/threads", {
    query: context.query,
    next: answer.next_cursor,
    kept: new URLSearchParams(filters),
  });
  const threads = await described(reads, context.principal.workspaceId, { threads: answer.data, identities });
  return {
    ...view,
    refused,
    list: { threads, total: answer.total, isCapped: answer.total_capped === true, ways },
  };
}

/** Adds summary lines and identities to the threads, in two queries for all. */
async function described(
  reads: Reads,
  workspaceId: string,
  { threads, identities }: { threads: readonly WireThread[]; identities: readonly NamedIdentity[] },
): Promise<ListedThread[]> {
  const ids = threads.map(({ id }) => id);
  const known = new Map(identities.map((identity) => [identity.id, identity]));
  const unknown = [...new Set(threads.map(({ identity_id }) => identity_id))].filter((id) => !known.has(id));
  const [lines, others] = await Promise.all([
    ids.length === 0 ? [] : conversationLines(reads, workspaceId, ids),
    unknown.length === 0 ? [] : identityNames(reads, workspaceId, unknown),
  ]);
  const lineOf = new Map(lines.map((line) => [line.thread_id, line]));
  for (const { id, display_name, email_address } of others) known.set(id, { id, display_name, email_address });
  return threads.map((thread) => ({ thread, line: lineOf.get(thread.id), identity: known.get(thread.identity_id) }));
}
