import type { MailKind, PutAside } from "#streams/inbox/mailKinds.ts";
import type { Authentication } from "#streams/thread/events.ts";
import type { FiledBy } from "../inbound/queries.ts";
import type { Reads } from "../reads.ts";

/** Stored facts about a message's sender (queries.ts, MessageRow). */
type Sender = {
  kind: MailKind | null;
  sent_by: string | null;
  from_workspace: boolean;
  authentication: Authentication | null;
};

/**
 * True if another identity of the workspace sent the mail: proved by its Message-ID and its words, or by its sender's address. A mail of
 * ours that came back with other words is not a colleague's.
 */
export const isColleagues = ({ kind, sent_by, from_workspace, authentication }: Sender): boolean =>
  (sent_by !== null && kind !== "altered_copy") || (from_workspace && authentication?.aligned === true);

/** Kinds of mail about which another sentence says how it came here: it may well have been sent from here. */
const saidOtherwise: readonly (MailKind | null)[] = ["altered_copy", "filed_by_hand"];

/** True if the sender's address is an identity's of the workspace, and nothing proves that. */
export const claimsToBeColleagues = (mail: Sender): boolean =>
  mail.from_workspace &&
  mail.authentication?.aligned === false &&
  !isColleagues(mail) &&
  !saidOtherwise.includes(mail.kind);

/** The sender of a received message, as pages and cards say whose mail it is. */
export type WhoseMail = {
  message_id: string;
  kind: MailKind;
  /** Address of the identity of this workspace that is proven to have sent it; null if none is. */
  colleague: string | null;
  put_aside: PutAside | null;
  /** The person or key that filed it as a message; null if filing did. */
  filed_by: FiledBy | null;
};

/** `isColleagues` as SQL, with the address. */
const colleague = `case
  when m.sent_by is not null and m.kind <> 'altered_copy' then sender.email_address
  when m.from_workspace and m.authentication ->> 'aligned' = 'true' then m.from_email end`;

/** Returns whose mail these messages are, by their ids. Mail of ours is left out. */
export async function whoseMail(
  reads: Reads,
  workspaceId: string,
  messageIds: readonly string[],
): Promise<Map<string, WhoseMail>> {
  const { rows } = await reads.of(workspaceId).query<WhoseMail>(
    `select m.id as message_id, m.kind, ${colleague} as colleague, entry.put_aside, entry.filed_by
     from messages m
       left join identities sender on sender.id = m.sent_by
       left join inbound entry on entry.message_id = m.id and entry.put_aside is not null
     where m.workspace_id = $1 and m.id = any($2::uuid[]) and m.direction = 'inbound'`,
    [workspaceId, messageIds],
  );
  return new Map(rows.map((row) => [row.message_id, row]));
}
