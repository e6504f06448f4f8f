import { reviewQueue } from "#projections/drafts/queries.ts";
import type { CardedView } from "#src/channels/approvalDecisions.ts";
import { sendObstacle } from "#src/commands/approvals/sendObstacle.ts";
import { signedInView } from "#src/commands/approvals/signedInView.ts";
import { maxOnSheet } from "../../../drafts/peoplesDecisions.ts";
import type { ConsoleDependencies } from "../../dependencies.ts";
import { isOrdinary } from "../isOrdinary.ts";
import { type QueueChoice, queueFilterOf } from "../reviewQuery.ts";

/** Maximum number of drafts of the queue that are examined for a sheet. */
const examined = 40;

/** Drafts of a sheet, and how many of the examined ones have to be opened one by one. */
export type SheetDrafts = { drafts: CardedView[]; left: number; total: number };

/** Returns the most urgent drafts that may be decided together, whole. */
export async function sheetDrafts(
  deps: ConsoleDependencies,
  workspaceId: string,
  choice: QueueChoice,
): Promise<SheetDrafts> {
  const filter = queueFilterOf(choice, deps.clock.now());
  const { data, total } = await reviewQueue(deps.reads, workspaceId, { ...filter, limit: examined });
  const drafts: CardedView[] = [];
  let left = 0;
  for (const { id } of data) {
    if (drafts.length === maxOnSheet) break;
    const view = await ordinaryDraft(deps, workspaceId, id);
    if (view) drafts.push(view);
    else left += 1;
  }
  return { drafts, left, total };
}

/** Returns a draft if it may be on a sheet: pending, ordinary, and without attachment, newer mail or open request for changes. */
export async function ordinaryDraft(
  deps: ConsoleDependencies,
  workspaceId: string,
  draftId: string,
): Promise<CardedView | undefined> {
  const downloadOf = (n: number) => `/review/${draftId}/attachments/${n}`;
  const found = await signedInView(deps, { workspaceId, draftId, downloadOf });
  if (!found || found.view.decided !== null) return undefined;
  const { view, draft } = found;
  const isPlain = view.attachments.length === 0 && view.newerMessage === null && view.changesRequested === null;
  if (!isPlain || !isOrdinary({ view, obstacle: await sendObstacle(deps, draft) })) return undefined;
  return view;
}
