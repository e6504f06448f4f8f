import { messageById } from "#projections/messages/queries.ts";
import type { Recorded } from "#streams/event.ts";
import type { Dependencies } from "../dependencies.ts";

/**
 * True if a reader may have the mail of this event. `mayReadLinks`: they may read mail that may contain approval links; others may read a
 * received mail only if it has none. Mail that was handed over is readable.
 */
export async function mayReadMail(
  { reads }: Pick<Dependencies, "reads">,
  { workspaceId, mayReadLinks }: { workspaceId: string; mayReadLinks: boolean },
  { type, data }: Recorded,
): Promise<boolean> {
  if (mayReadLinks || type !== "MessageReceived") return true;
  return (await messageById(reads, workspaceId, data.messageId as string))?.approval_links === null;
}
