import { reviewQueue } from "#projections/drafts/queries.ts";
import type { CardedView } from "#src/channels/approvalDecisions.ts";
import { sendObstacle } from "#src/commands/approvals/sendObstacle.ts";
import { signedInView } from "#src/commands/approvals/signedInView.ts";
import { heavyWarnings } from "#streams/draft/warnings.ts";
import { maxOnSheet } from "../../../drafts/peoplesDecisions.ts";
import type { ConsoleDependencies } from "../../dependencies.ts";
import { isOrdinary } from "../isOrdinary.ts";
import { type QueueChoice, queueFilterOf } from "../reviewQuery.ts";

/** Maximum number of drafts of the queue that are examined for a sheet. */
const examined = 40;

/** Drafts of a sheet, and how many have to be opened one by one: those with a heavy warning, and others of the examined ones. */
export type SheetDrafts = { drafts: CardedView[]; left: number };

/** Returns the most urgent drafts that may be decided together, whole. Their lists' warnings choose them; then each is judged. */
export async function sheetDrafts(
  deps: ConsoleDependencies,
  { workspaceId, userId }: { workspaceId: string; userId: string },
  choice: QueueChoice,
): Promise<SheetDrafts> {
  const filter = queueFilterOf(choice, { now: deps.clock.now(), userId });
  const [all, { data, total }] = await Promise.all([
    reviewQueue(deps.reads, workspaceId, { ...filter, limit: 1 }),
    reviewQueue(deps.reads, workspaceId, { ...filter, without: heavyWarnings, limit: examined }),
  ]);
  const drafts: CardedView[] = [];
  let left = all.total - total;
  for (const { id } of data) {
    if (drafts.length === maxOnSheet) break;
    const view = await ordinaryDraft(deps, workspaceId, id);
    if (view) drafts.push(view);
    else left += 1;
  }
  return { drafts, left };
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
