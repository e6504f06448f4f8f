import type { CardedView } from "#src/channels/approvalDecisions.ts";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import type { Dependencies } from "../dependencies.ts";

/** Adds the card of a view. Channels and pages render the card and derive nothing from the view themselves. */
export async function withCard<View extends ApprovalView>(
  { costlyWork }: Pick<Dependencies, "costlyWork">,
  workspaceId: string,
  view: View,
): Promise<View & CardedView> {
  return { ...view, card: await costlyWork("reviewCard", view, workspaceId) };
}
