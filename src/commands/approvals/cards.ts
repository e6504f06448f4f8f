import type { CardedView } from "#src/channels/approvalDecisions.ts";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import type { Dependencies } from "../dependencies.ts";

/** A view with its card: channels and pages show what is on it, and work nothing out. */
export async function withCard<View extends ApprovalView>(
  { costlyWork }: Pick<Dependencies, "costlyWork">,
  workspaceId: string,
  view: View,
): Promise<View & CardedView> {
  return { ...view, card: await costlyWork("reviewCard", view, workspaceId) };
}
