import { positionOfMessage } from "#projections/messages/queries.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { readFiledMail } from "../threads/answeredMail.ts";
import { leftOutWarnings, replyTo, replyToAll } from "./replyRecipients.ts";

/** Sender and recipients of an answer to a message. */
export type ReplyPreview = {
  messageId: string;
  from: { name: string; address: string };
  /** Recipients of the reply; empty if the message names no address to reply to. */
  to: string[];
  /** Further recipients, in copy, if the reply goes to all, and sentences about those that it leaves out. */
  everybody: string[];
  leftOut: string[];
};

/** Returns the recipients that `replyEmail` would derive; undefined if the workspace has no such inbound message. */
export async function replyPreview(
  deps: Pick<Dependencies, "reads" | "identities" | "store" | "threads">,
  { workspaceId, messageId }: { workspaceId: string; messageId: string },
): Promise<ReplyPreview | undefined> {
  const place = await positionOfMessage(deps.reads, workspaceId, messageId);
  const mail = place && (await readFiledMail(deps, place, { workspaceId, messageId }));
  if (!mail) return undefined;
  const { state: identity } = await deps.identities.load(mail.identityId);
  const from = { name: identity.displayName, address: identity.emailAddress };
  const to = recipientOf({ mail, identity });
  if (to.length === 0) return { messageId, from, to, everybody: [], leftOut: [] };
  const { cc: everybody, leftOut } = await replyToAll(deps, { mail, identity }, { to, cc: [], bcc: [] });
  return { messageId, from, to, everybody, leftOut: leftOutWarnings(leftOut) };
}

function recipientOf(answering: Parameters<typeof replyTo>[0]): string[] {
  try {
    return replyTo(answering);
  } catch (error) {
    if (error instanceof Rejected) return [];
    throw error;
  }
}
