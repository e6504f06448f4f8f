import { type MessageRow, messageById } from "#projections/messages/queries.ts";
import { Rejected } from "#streams/decider.ts";
import { copiesToEverybody, recipientsOfReply } from "#streams/draft/recipients.ts";
import type { Dependencies } from "../dependencies.ts";

/** Sender and recipients of an answer to a message. */
export type ReplyPreview = {
  messageId: string;
  from: { name: string; address: string };
  /** Recipients of the reply; empty if the message names no address to reply to. */
  to: string[];
  /** Further recipients, in copy, if the reply goes to all. */
  everybody: string[];
};

/** Returns the recipients that `replyEmail` would derive; undefined if the workspace has no such inbound message. */
export async function replyPreview(
  deps: Pick<Dependencies, "reads" | "identities">,
  { workspaceId, messageId }: { workspaceId: string; messageId: string },
): Promise<ReplyPreview | undefined> {
  const message = await messageById(deps.reads, workspaceId, messageId);
  if (message?.direction !== "inbound") return undefined;
  const { state: identity } = await deps.identities.load(message.identity_id);
  const to = sendersOf(message, identity);
  return {
    messageId,
    from: { name: identity.displayName, address: identity.emailAddress },
    to,
    everybody: to.length === 0 ? [] : copiesToEverybody(message, { to, cc: [], bcc: [] }, identity),
  };
}

function sendersOf(message: MessageRow, identity: Parameters<typeof recipientsOfReply>[1]): string[] {
  try {
    return recipientsOfReply(message, identity);
  } catch (error) {
    if (error instanceof Rejected) return [];
    throw error;
  }
}
