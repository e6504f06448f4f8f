import { relayIdIn } from "#src/mail/in/messageIds.ts";
import type { Dependencies } from "../../dependencies.ts";
import type { MailReceivedEvent } from "../readMail.ts";
import { ownerOfAddress } from "../recipients.ts";
import type { Chains } from "./chains.ts";

/** A mail of this workspace's that was handed over: its message, its identity, and the draft with its content. */
export type OwnMail = { messageId: string; identityId: string; threadId: string; draftId: string };

/** A received mail and what is known of Message-IDs (chains.ts). */
export type Judged = { mail: MailReceivedEvent; chains: Chains };

/**
 * Returns the mail of this identity, or of another one of its workspace, that was sent under this Message-ID: proved by the mark in the id,
 * or for the identity's own mail by the id that a relay gave it.
 */
export async function ownMail(
  deps: Dependencies,
  { mail, chains }: Judged,
  rfcMessageId: string,
): Promise<OwnMail | undefined> {
  const { identityId, workspaceId } = mail.data;
  const origin = deps.messageIds.open(rfcMessageId);
  const told = [rfcMessageId, ...relayIdIn(rfcMessageId)].map((id) => chains.attemptOf.get(id));
  const attemptId = origin?.attemptId ?? told.find((id) => id !== undefined);
  if (attemptId === undefined) return undefined;
  const { state: delivery } = await deps.deliveries.load(attemptId);
  if (delivery.started === null) return undefined;
  const { draftId, threadId } = delivery.started;
  const { state: draft } = await deps.drafts.load(draftId);
  if (draft.workspaceId !== workspaceId) return undefined;
  if (draft.identityId !== identityId && !(await isStillThere(deps, draft.identityId))) return undefined;
  return { messageId: draft.messageId, identityId: draft.identityId, threadId, draftId };
}

/** True if mail still reaches the identity: it was not deleted, and its domain is the workspace's. */
async function isStillThere(deps: Dependencies, identityId: string): Promise<boolean> {
  const { state: identity } = await deps.identities.load(identityId);
  return (await ownerOfAddress(deps, identity.emailAddress))?.identityId === identityId;
}

/**
 * Returns the mail of this identity that a received mail may be a copy of, although a relay gave it another Message-ID and did not tell. A
 * mail of ours names its own id as its last reference (mail/out/render.ts).
 */
export async function renamedByRelay(deps: Dependencies, judged: Judged): Promise<OwnMail | undefined> {
  const { headers, identityId } = judged.mail.data;
  const id = headers.references.at(-1);
  if (id === undefined || deps.messageIds.open(id) === undefined) return undefined;
  const { state: identity } = await deps.identities.load(identityId);
  if (headers.from?.address.toLowerCase() !== identity.emailAddress) return undefined;
  const ours = await ownMail(deps, judged, id);
  return ours?.identityId === identityId ? ours : undefined;
}
