import type { CardedView } from "#src/channels/approvalDecisions.ts";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import type { Dependencies } from "../dependencies.ts";

/** Adds a view's card: channels and pages only render the card and derive nothing themselves. */
export async function withCard<View extends ApprovalView>(
  { costlyWork }: Pick<Dependencies, "costlyWork">,
  workspaceId: string,
  view: View,
): Promise<View & CardedView> {
  return { ...view, card: await costlyWork("reviewCard", view, workspaceId) };
}
