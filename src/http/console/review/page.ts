import { draftById, reviewQueue, waitingByIdentity } from "#projections/drafts/queries.ts";
import { threadById } from "#projections/threads/queries.ts";
import { workspaceById } from "#projections/workspaces/queries.ts";
import { personsView } from "#src/commands/approvals/personsView.ts";
import { sendObstacle } from "#src/commands/approvals/sendObstacle.ts";
import { loadContent } from "#src/commands/drafts/draftContents.ts";
import { html, type Markup } from "#src/html/html.ts";
import type { StoredContent } from "#streams/draft/events.ts";
import { requireScope } from "../../framework/principal.ts";
import { type ConsoleAnswer, shown } from "../framework/page.ts";
import type { Visit } from "../framework/visit.ts";
import type { ConsoleDependencies } from "../index.ts";
import { type Chosen, chosenSection, type Neighbours, type NotDone } from "./chosen.ts";
import { type Decided, decidedNotice } from "./decidedNotice.ts";
import { keysHelp } from "./keysHelp.ts";
import { type Pause, pauseSwitch } from "./pause.ts";
import { type Place, reviewPath } from "./place.ts";
import { type Queue, queueSection } from "./queueList.ts";

/** So many are listed at once. */
const listed = 50;

export type ReviewOptions = {
  place: Place;
  /** Why a press did nothing, with the status of the page. `since`: the version that was shown when it was pressed. */
  notDone?: NotDone & { status: number; since: number | undefined };
};

/** The drafts that wait for a decision, the most urgent first, and one of them beside the list. */
export async function reviewPage(
  deps: ConsoleDependencies,
  visit: Visit,
  { place, notDone }: ReviewOptions,
): Promise<ConsoleAnswer> {
  requireScope(visit.principal, "read:threads");
  const { workspaceId } = visit.principal;
  const { identity: identityId, from: offset = 0 } = place;
  const waiting = await reviewQueue(deps.reads, workspaceId, { identityId, limit: listed, offset });
  const queue = {
    drafts: waiting.data,
    total: waiting.total,
    identities: await waitingByIdentity(deps.reads, workspaceId),
  };
  const current = place.draft ?? queue.drafts.find(({ id }) => id !== place.decided)?.id;
  const chosen =
    current === undefined ? undefined : await chosenDraft(deps, visit, { draftId: current, since: notDone?.since });
  const decided = place.decided === undefined ? undefined : await decidedDraft(deps, visit, place.decided);
  const options = { place, neighbours: neighboursOf(queue, current), notDone };
  const now = deps.clock.now();
  const userId = visit.principal.user.id;
  const refresh = refreshPath(visit, { ...place, draft: current }, chosen);
  return shown({
    title: titleOf(queue.total, notDone),
    ...(notDone && { status: notDone.status }),
    wide: true,
    main: html`<h1>Review</h1>
${decidedNotice(visit, decided, place)}
${pauseSwitch(visit, await pauseOf(deps, visit), "/review")}
<div class="review">${queueSection({ queue, place, current, now, userId, refresh })}
${chosen ? chosenSection(visit, chosen, options) : nothingWaits(queue, place)}</div>
${keysHelp()}`,
  });
}

function titleOf(total: number, notDone: NotDone | undefined): string {
  if (notDone) return "Nothing was decided · Review";
  return total === 0 ? "Nothing waits · Review" : `${total} ${total === 1 ? "waits" : "wait"} · Review`;
}

const nothingWaits = (
  { total }: Queue,
  { draft, identity }: Place,
): Markup => html`<section id="chosen" class="chosen empty"><h2>${draft !== undefined ? "There is no such draft" : "All done"}</h2>
${
  draft !== undefined || total > 0
    ? html`<p><a href="${reviewPath({ identity })}">Show what waits</a></p>`
    : html`<p>Nothing waits for your decision. When an agent writes a draft, it appears here by itself.</p>`
}</section>`;

async function chosenDraft(
  deps: ConsoleDependencies,
  visit: Visit,
  { draftId, since }: { draftId: string; since: number | undefined },
): Promise<Chosen | undefined> {
  const { workspaceId, user } = visit.principal;
  const downloadOf = (n: number) => `/review/${draftId}/attachments/${n}`;
  const found = await personsView(deps, { workspaceId, draftId, downloadOf, since });
  if (!found) return undefined;
  const { view, draft } = found;
  const row = await draftById(deps.reads, workspaceId, draftId);
  const waits = view.decided === null;
  const isMine = row?.approvals_given.some(({ by }) => by.kind === "session" && by.id === user.id) ?? false;
  return {
    view,
    votes: { isMine: waits && isMine },
    obstacle: waits ? await sendObstacle(deps, draft) : undefined,
    looking: waits ? await deps.presence.others({ workspaceId, draftId }, user.id) : [],
    reasons: waits && visit.may("decide:drafts") ? await reasonsOf(visit, draft.identityId) : [],
  };
}

async function reasonsOf(visit: Visit, identityId: string): Promise<string[]> {
  const { data } = await visit.ask("GET /v1/rejection-reasons", { query: { identity_id: identityId } });
  return data.map(({ reason }: { reason: string }) => reason);
}

async function decidedDraft(deps: ConsoleDependencies, visit: Visit, draftId: string): Promise<Decided | undefined> {
  const { workspaceId, user } = visit.principal;
  const row = await draftById(deps.reads, workspaceId, draftId);
  if (!row) return undefined;
  const now = deps.clock.now();
  const { to } = await loadContent(deps.blobs, {
    content: row.content,
    contentBlob: row.content_blob,
  } as StoredContent);
  const subject = (await threadById(deps.reads, workspaceId, row.thread_id))?.subject ?? "";
  const isMine = row.decided_by?.kind === "session" && row.decided_by.id === user.id;
  const until = row.status === "approved" && isMine && row.undo_until !== null ? new Date(row.undo_until) : null;
  const undoUntil = until !== null && until > now && visit.may("decide:drafts") ? until.toISOString() : null;
  return { row, subject, to, undoUntil, now };
}

/**
 * Where the list is asked for again; it says what is shown beside it, so that the page can tell what changed since: that stays, however often the list
 * is refreshed.
 */
function refreshPath({ query }: Visit, place: Place, chosen: Chosen | undefined): string {
  if (!chosen) return reviewPath(place);
  const { version, newerMessage } = chosen.view;
  const shown = Number(query.get("shown")) || version;
  const newer = query.get("newer") ?? (newerMessage === null ? "no" : "yes");
  return reviewPath({ ...place, shown, newer: newer === "no" ? "no" : "yes" });
}

function neighboursOf({ drafts }: Queue, current: string | undefined): Neighbours {
  const index = drafts.findIndex(({ id }) => id === current);
  if (index === -1) return { next: drafts.find(({ id }) => id !== current)?.id, previous: undefined };
  return { next: drafts[index + 1]?.id, previous: drafts[index - 1]?.id };
}

/** Whether the workspace sends, and who keeps it from that. */
export async function pauseOf({ reads }: Pick<ConsoleDependencies, "reads">, visit: Visit): Promise<Pause> {
  const workspace = await workspaceById(reads, visit.principal.workspaceId);
  return {
    paused: workspace?.sending_paused ?? false,
    by: workspace?.sending_paused_by ? (workspace.sending_paused_by.name ?? workspace.sending_paused_by.id) : null,
    at: workspace?.sending_paused_at?.toISOString() ?? null,
    reason: workspace?.sending_paused_reason ?? null,
  };
}
