import { draftById, reviewQueue, waitingByIdentity } from "#projections/drafts/queries.ts";
import { handOvers } from "#projections/inbound/queries.ts";
import { numberInThread } from "#projections/messages/queries.ts";
import { threadById } from "#projections/threads/queries.ts";
import { sendObstacle } from "#src/commands/approvals/sendObstacle.ts";
import { signedInView } from "#src/commands/approvals/signedInView.ts";
import { loadContent } from "#src/commands/drafts/draftContents.ts";
import { html, type Markup } from "#src/html/html.ts";
import type { StoredContent } from "#streams/draft/events.ts";
import { requireScope } from "../../framework/principal.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleAnswer, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { type DecidedDraft, decidedNotice } from "./decidedNotice.ts";
import { handOverSection, mostHandOvers } from "./handOverSection.ts";
import { keysHelp } from "./keysHelp.ts";
import { type Pause, pauseIn, pauseSwitch } from "./pause.ts";
import { queueFilter } from "./queueFilter.ts";
import { type ListedQueue, queueSection } from "./queueList.ts";
import { queueChoiceOf, queueFilterOf, type ReviewQuery, reviewPath } from "./reviewQuery.ts";
import type { Neighbours, RefusedAction, SelectedDraft } from "./selectedDraft.ts";
import { selectedDraftSection } from "./selectedDraftSection.ts";

/** Drafts per page of the list. */
const listed = 50;

export type ReviewPageOptions = {
  place: ReviewQuery;
  /** Why an action was not done, with the status of the page. `since`: the version shown at the time. */
  notDone?: RefusedAction & { status: number; since: number | undefined };
};

/** The pending drafts, most urgent first, and one of them next to the list. */
export async function reviewPage(
  deps: ConsoleDependencies,
  context: PageContext,
  { place, notDone }: ReviewPageOptions,
): Promise<ConsoleAnswer> {
  requireScope(context.principal, "read:threads");
  const { workspaceId } = context.principal;
  const userId = context.principal.user.id;
  const now = deps.clock.now();
  const chosenOf = async (draftId: string | undefined) =>
    draftId === undefined ? undefined : chosenDraft(deps, context, { draftId, since: notDone?.since });
  const [waiting, identities, named, decided, pause, handedOver] = await Promise.all([
    reviewQueue(deps.reads, workspaceId, { ...queryOf(place, { now, userId }), limit: listed }),
    waitingByIdentity(deps.reads, workspaceId),
    chosenOf(place.draft),
    place.decided === undefined ? undefined : decidedDraft(deps, context, place.decided),
    pauseOf(context),
    handOvers(deps.reads, workspaceId, { count: mostHandOvers + 1 }),
  ]);
  const queue = { drafts: waiting.data, total: waiting.total, from: waiting.from, identities };
  // After a decision, the next draft may have been decided by another member meanwhile: show the first one that waits.
  const isPassed = place.decided !== undefined && named !== undefined && named.view.decided !== null;
  const first = queue.drafts.find(({ id }) => id !== place.decided)?.id;
  const current = isPassed ? (first ?? place.draft) : (place.draft ?? first);
  const chosen = current === place.draft ? named : await chosenOf(current);
  const neighbours = neighboursOf(queue, current);
  const isNew = !chosen && (await isToBeSetUp(context, queue));
  const refresh = refreshPath(context, { ...place, draft: current }, chosen);
  return shown({
    title: titleOf(queue.total, notDone),
    ...(notDone && { status: notDone.status }),
    wide: true,
    main: html`<div class="review-head"><h1>Review</h1>${pauseSwitch(context, pause, "/review")}</div>
${decidedNotice(context, decided, place)}
${handOverSection(context, handedOver)}
<div class="review"><div id="list" class="list-view"><p class="back"><a class="press" href="#chosen">Back to the draft</a></p>
${queueFilter(queue, place)}
${queueSection({ queue, place, current, now, userId, refresh })}</div>
${chosen ? selectedDraftSection(context, chosen, { place, neighbours, notDone }) : nothingWaits(queue, place, { isNew })}</div>
<p class="meta"><a class="press" href="/review/aside">Mail put aside</a></p>
${keysHelp()}`,
  });
}

const queryOf = ({ from = 0, draft, ...choice }: ReviewQuery, reader: { now: Date; userId: string }) => ({
  ...queueFilterOf(choice, reader),
  offset: from,
  draftId: draft,
});

function titleOf(total: number, notDone: RefusedAction | undefined): string {
  if (notDone) return "Nothing was decided · Review";
  return total === 0 ? "Review" : `(${total}) Review`;
}

function nothingWaits({ total }: ListedQueue, { draft, ...place }: ReviewQuery, { isNew }: { isNew: boolean }): Markup {
  const isFiltered = Object.values(queueChoiceOf(place)).some((value) => value !== undefined);
  const part = (title: string, content: Markup) =>
    html`<section id="chosen" class="chosen empty"><h2>${title}</h2>
${content}
</section>`;
  if (draft !== undefined || total > 0)
    return part(
      draft !== undefined ? "Draft not found" : "All done",
      html`<p><a href="${reviewPath(queueChoiceOf(place))}">Show the drafts to review</a></p>`,
    );
  if (isFiltered) return part("No draft matches", html`<p><a href="/review">Show all drafts to review</a></p>`);
  return part(
    "All done",
    html`<p>There are no drafts to review. New drafts appear here automatically.</p>
${isNew && html`<p>Mail needs an address. <a href="/identities">Set one up for your agent</a>: that page lists every step.</p>`}`,
  );
}

/** True if the workspace has no identity yet and this person may create one: the page then shows where to begin. */
async function isToBeSetUp(context: PageContext, { total }: ListedQueue): Promise<boolean> {
  if (total > 0 || !context.may("write:identities")) return false;
  return (await context.ask("GET /v1/identities", { query: { limit: 1 } })).total === 0;
}

async function chosenDraft(
  deps: ConsoleDependencies,
  context: PageContext,
  { draftId, since }: { draftId: string; since: number | undefined },
): Promise<SelectedDraft | undefined> {
  const { workspaceId, user } = context.principal;
  const downloadOf = (n: number) => `/review/${draftId}/attachments/${n}`;
  const [found, row] = await Promise.all([
    signedInView(deps, { workspaceId, draftId, downloadOf, since }),
    draftById(deps.reads, workspaceId, draftId),
  ]);
  if (!found) return undefined;
  const { view, draft } = found;
  const messageId = row?.based_on_message_id ?? null;
  const number = messageId === null ? undefined : await numberInThread(deps.reads, workspaceId, messageId);
  const message = messageId !== null && number ? { id: messageId, ...number } : undefined;
  const about = { view, threadId: draft.threadId, message };
  if (view.decided !== null)
    return {
      ...about,
      votes: { isMine: false, askedForChanges: false },
      obstacle: undefined,
      looking: [],
      reasons: [],
      assignee: null,
      assignees: [],
    };
  const isMe = (by: { kind: string; id: string } | undefined): boolean => by?.kind === "session" && by.id === user.id;
  const isMine = row?.approvals_given.some(({ by }) => isMe(by)) ?? false;
  const askedForChanges = isMe(row?.changes_requested?.by);
  const mayDecide = context.may("decide:drafts");
  const [obstacle, looking, reasons, assignees] = await Promise.all([
    sendObstacle(deps, draft),
    deps.presence.others({ workspaceId, draftId }, user.id),
    mayDecide ? reasonsOf(context, draft.identityId) : [],
    mayDecide ? context.ask("GET /v1/assignees").then(({ data }) => data) : [],
  ]);
  const assignee = row?.assignee ?? null;
  return { ...about, votes: { isMine, askedForChanges }, obstacle, looking, reasons, assignee, assignees };
}

async function reasonsOf(context: PageContext, identityId: string): Promise<string[]> {
  const { data } = await context.ask("GET /v1/rejection-reasons", { query: { identity_id: identityId } });
  return data.map(({ reason }) => reason);
}

async function decidedDraft(
  deps: ConsoleDependencies,
  context: PageContext,
  draftId: string,
): Promise<DecidedDraft | undefined> {
  const { workspaceId, user } = context.principal;
  const row = await draftById(deps.reads, workspaceId, draftId);
  if (!row) return undefined;
  const now = deps.clock.now();
  const stored = { content: row.content, contentBlob: row.content_blob } as StoredContent;
  const [{ to }, thread] = await Promise.all([
    loadContent(deps.blobs, stored),
    threadById(deps.reads, workspaceId, row.thread_id),
  ]);
  const subject = thread?.subject ?? "";
  const isMine = row.decided_by?.kind === "session" && row.decided_by.id === user.id;
  const until = row.status === "approved" && isMine && row.undo_until !== null ? new Date(row.undo_until) : null;
  const undoUntil = until !== null && until > now && context.may("decide:drafts") ? until.toISOString() : null;
  return { row, subject, to, undoUntil, now };
}

/**
 * The URL that refreshes the list. It contains the version of the shown draft, so that the page can report changes to it, however often the
 * list is refreshed.
 */
function refreshPath({ query }: PageContext, place: ReviewQuery, chosen: SelectedDraft | undefined): string {
  if (!chosen) return reviewPath(place);
  const { version, newerMessage } = chosen.view;
  const shown = Number(query.get("shown")) || version;
  const newer = query.get("newer") ?? (newerMessage === null ? "no" : "yes");
  return reviewPath({ ...place, shown, newer: newer === "no" ? "no" : "yes" });
}

function neighboursOf({ drafts, total }: ListedQueue, current: string | undefined): Neighbours {
  const row = drafts.find(({ id }) => id === current);
  if (!row) return { next: drafts[0]?.id, previous: undefined, rank: undefined, total };
  return { next: row.next_id ?? undefined, previous: row.previous_id ?? undefined, rank: row.rank + 1, total };
}

/** The pause of the workspace's sending, if any. */
async function pauseOf(context: PageContext): Promise<Pause> {
  const workspace = await context.workspace();
  if (!workspace) throw new Error(`the read model has no workspace ${context.principal.workspaceId}`);
  return pauseIn(workspace);
}
