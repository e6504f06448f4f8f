import { draftById, draftsOfList, type OnList, type TokenRow } from "#projections/drafts/queries.ts";
import type { ReadModel } from "#projections/names.ts";
import type { ApprovalList, ApprovalLists, ListedDraft, ListedState } from "#src/channels/approvalList.ts";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { findToken } from "#streams/draft/notification.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import { requireProjected } from "../readModels.ts";
import { draftOf, hashToken } from "./approvalTokens.ts";
import { approvalView, recordedOutcome } from "./approvalViews.ts";
import { listedDecision, listedIn, listedToken } from "./bundleTokens.ts";
import { withCard } from "./cards.ts";
import { isStillChannelOf } from "./channelAddresses.ts";
import { nextOnList } from "./nextOnList.ts";

/** Number of drafts per page. It is small because each pending draft is loaded completely to compute its warnings. */
const draftsOnPage = 50;

const shown = ["drafts", "messages", "threads"] as const;

/** Throws Unavailable if one of these read models cannot be read now. */
type RequireReadable = (of: readonly ReadModel[]) => void;
type Deps = Dependencies & { requireReadable: RequireReadable };

/** Reads the page behind the link of a bundle mail. The token is the permission. Opening the page writes nothing. */
export const approvalLists = (deps: Dependencies, requireReadable: RequireReadable = () => {}): ApprovalLists => ({
  list: (token, page) => list({ ...deps, requireReadable }, token, page),
  next: (listToken, token) => nextOnList(deps, listToken, token),
});

async function list(deps: Deps, token: string, page: number): Promise<ApprovalList | undefined> {
  const listSha256 = hashToken(token);
  const known = await draftOf(deps, listSha256);
  if (!known) return undefined;
  const workspaceId = known.workspace_id;
  const all = await draftsOfList(deps.reads, workspaceId, listSha256);
  const pages = Math.max(1, Math.ceil(all.length / draftsOnPage));
  // No requests: the token belongs to a single draft, not to a list.
  if (all.length === 0 || page > pages) return undefined;
  const found: FoundDraft[] = [];
  for (const row of all.slice((page - 1) * draftsOnPage, page * draftsOnPage)) {
    const { state: draft, position } = await deps.drafts.load(row.id);
    const asked = listedIn(draft, listSha256);
    if (asked) found.push({ row, draft, position, asked });
  }
  await requireShown(deps, Math.max(...found.map(({ position }) => position)));
  const drafts: ListedDraft[] = [];
  // Load one draft at a time, because each may have a large body.
  for (const each of found) drafts.push(await listed(deps, each, token).catch((error) => unshown(deps, each, error)));
  const waiting = all.filter(({ status }) => status === "pending").length;
  const expiresAt = found[0]?.asked.expiresAt ?? new Date(0).toISOString();
  return { total: all.length, waiting, page, pages, drafts, expiresAt };
}

async function requireShown(deps: Deps, position: number): Promise<void> {
  deps.requireReadable(shown);
  await requireProjected(deps, position, shown);
}

type FoundDraft = { row: OnList; draft: Draft; position: number; asked: ApprovalRequest };

async function listed(deps: Dependencies, found: FoundDraft, token: string): Promise<ListedDraft> {
  const { row, draft } = found;
  const state = await stateOf(deps, found, token);
  if (state.kind === "elsewhere") return { subject: "", to: [], since: null, state };
  const { subject, to } = await loadContent(deps.blobs, draft.stored);
  return { subject, to, since: row.since?.toISOString() ?? null, state };
}

/** Shows a draft that cannot be loaded as broken, so that the others stay visible. */
function unshown(deps: Dependencies, { row }: FoundDraft, error: unknown): ListedDraft {
  if (error instanceof Unavailable) throw error;
  deps.log?.error({ err: error, draft: row.id }, "a draft on an approver's list cannot be shown");
  return { subject: "", to: [], since: null, state: { kind: "broken" } };
}

async function stateOf(deps: Dependencies, { row, draft, asked }: FoundDraft, token: string): Promise<ListedState> {
  const { state: identity } = await deps.identities.load(draft.identityId);
  if (!isStillChannelOf(deps, identity, asked.channel)) return { kind: "elsewhere" };
  if (asked.version !== draft.version) return { kind: "changed" };
  if (draft.notified.closed[asked.notificationId]) return { kind: "closed" };
  if (draft.status !== "pending") {
    const read = await draftById(deps.reads, draft.workspaceId, row.id);
    const outcome = read && recordedOutcome(read);
    return outcome ? { kind: "decided", outcome } : { kind: "changed" };
  }
  const view = await approvalView(deps, { draftId: row.id, draft, version: draft.version, expiresAt: asked.expiresAt });
  const itsToken = listedToken(token, asked.notificationId, listedDecision);
  const warnings = isLong(view) ? null : (await withCard(deps, draft.workspaceId, view)).card.warnings.length;
  return { kind: "waits", token: itsToken, warnings };
}

/** Maximum number of characters of a draft that are checked for warnings: a page with fifty long drafts must not load slowly. */
const mostLookedThrough = 20_000;

const isLong = ({ content: { body_html, body_text, signature_html } }: ApprovalView): boolean =>
  [body_html, body_text, signature_html].join("").length > mostLookedThrough;

/** A request and the draft it is about. */
export type RequestBehind = { draftId: string; asked: ApprovalRequest };

/** Returns the requests that a token's holder may decide about: one draft's, or all of a list. */
export async function requestsOfToken(
  deps: Pick<Dependencies, "reads" | "drafts">,
  { draft_id, workspace_id, token_sha256 }: TokenRow,
): Promise<RequestBehind[]> {
  const { state: draft } = await deps.drafts.load(draft_id);
  const asked = findToken(draft, token_sha256);
  if (asked) return [{ draftId: draft_id, asked }];
  const found: RequestBehind[] = [];
  for (const { id } of await draftsOfList(deps.reads, workspace_id, token_sha256)) {
    const listed = listedIn((await deps.drafts.load(id)).state, token_sha256);
    if (listed) found.push({ draftId: id, asked: listed });
  }
  return found;
}
