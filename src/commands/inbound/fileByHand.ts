import type { ReceivedRow } from "#projections/inbound/queries.ts";
import { positionOfMessage } from "#projections/messages/queries.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import { isWord } from "#streams/inbox/mailKinds.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { derivedId } from "../ids.ts";
import { countInbound } from "../plans/quotas.ts";
import { readFiledMail } from "../threads/answeredMail.ts";
import { commandThread, loadThread } from "../threads/threads.ts";
import { applyPending } from "./filing/apply.ts";
import { withReadResult } from "./filing/decide.ts";
import { whyMailIsHeld } from "./heldMail.ts";
import { type MailReceivedEvent, type ReadMail, readMail, readReceivedAt, withMemoryFor } from "./readMail.ts";

/** A delivery in the ledger that a person files as a message. */
export type EntryToFile = { workspaceId: string; entry: ReceivedRow };

/**
 * Files a mail as a message that filing had put aside: a copy of ours or a reaction becomes a message under a new filing number; a message
 * that is nobody's word (an automatic reply, a report, a colleague's mail) keeps its id and becomes the customer's word. It then fires and
 * makes drafts stale as a mail of its sender; no grant applies to an answer to it. Once for an entry. Throws Rejected invalid_status,
 * plan_limit_reached; Unavailable while the mail is being filed.
 */
export async function fileByHand(deps: Dependencies, given: EntryToFile, cause: Cause): Promise<{ position: number }> {
  const { disposition, identity_id: identityId } = given.entry;
  const held = identityId === null || cause.repeated ? null : await whyMailIsHeld(deps, identityId);
  if (held !== null) throw notFileable(`mail of this identity is held: ${held}`);
  if (disposition === "own_copy" || disposition === "reaction" || (await wasFiledBefore(deps, given, cause)))
    return fileMail(deps, given, cause);
  if (disposition === "threaded") return makeWord(deps, given, cause);
  throw notFileable(`a mail with the disposition ${disposition} cannot be filed as a message`);
}

const notFileable = (why: string): Rejected => new Rejected("invalid_status", why);
const again = (): Rejected => notFileable("this mail was already filed as a message");

async function makeWord(deps: Dependencies, { workspaceId, entry }: EntryToFile, cause: Cause) {
  const messageId = entry.message_id as string;
  const received = await positionOfMessage(deps.reads, workspaceId, messageId);
  if (received === undefined) {
    const { state: filing } = await deps.filings.load(entry.identity_id as string);
    if (filing.filedByHand.includes(entry.id)) throw again();
    throw new Unavailable("this mail is just being filed: retry shortly");
  }
  const mail = received && (await readFiledMail(deps, received, { workspaceId, messageId }));
  if (!received || !mail) throw new Rejected("not_found", "no such message");
  const isDone = cause.repeated === true && mail.kind === "filed_by_hand";
  if (isWord(mail) && !isDone) throw notFileable("this mail is already a message that counts as its sender's");
  const { number, identityId } = mail;
  const command = { type: "FileByHand", message: { messageId, number, identityId, received } } as const;
  const { changed, position } = await commandThread(deps, { threadId: received.threadId, command }, cause);
  if (!changed && !cause.repeated) throw again();
  return { position };
}

/** True if an earlier run of this call decided already that the mail is filed, and was interrupted then. */
async function wasFiledBefore(deps: Dependencies, { entry }: EntryToFile, { repeated }: Cause): Promise<boolean> {
  if (!repeated || entry.disposition !== "threaded") return false;
  return (await deps.filings.load(entry.identity_id as string)).state.filedByHand.includes(entry.id);
}

async function fileMail(deps: Dependencies, { workspaceId, entry }: EntryToFile, cause: Cause) {
  const { id: deliveryId, inbox_revision: revision } = entry;
  const identityId = entry.identity_id as string;
  const event = await readReceivedAt(deps, identityId, revision);
  const counted = await countInbound(deps, { workspaceId, deliveryIds: [deliveryId] }, cause);
  if (!counted.has(deliveryId)) throw new Rejected("plan_limit_reached", "the plan's quota of inbound mail is used up");
  for (let isOurs = cause.repeated === true; ; ) {
    const { state: filing } = await deps.filings.load(identityId);
    const isDone = filing.filedByHand.includes(deliveryId);
    if (isDone && !isOurs) throw again();
    // Also what another call or another mail left; each mail has room in memory of its own.
    if (filing.pending.length > 0) await applyPending(deps, { identityId, pending: filing.pending }, cause);
    else if (isDone) return { position: await positionOf(deps, entry) };
    else isOurs = await decideByHand(deps, { event, entry, number: filing.lastNumber + 1 }, cause);
  }
}

/** Records the decision; false if another mail or call took its number. */
async function decideByHand(
  deps: Dependencies,
  { event, entry, number }: { event: MailReceivedEvent; entry: ReceivedRow; number: number },
  cause: Cause,
): Promise<boolean> {
  const { threadId } = await loadThread(deps, entry.thread_id as string);
  const mail = await withMemoryFor(deps, [event], () => readMail(deps, event));
  const command = { type: "DecideByHand", decision: decisionOf(mail, { number, threadId }) } as const;
  return (await deps.filings.handle(entry.identity_id as string, command, cause)).changed;
}

async function positionOf(deps: Dependencies, entry: ReceivedRow): Promise<number> {
  const { threadId } = await loadThread(deps, entry.thread_id as string);
  return (await deps.threads.load(threadId)).position;
}

function decisionOf(mail: ReadMail, { number, threadId }: { number: number; threadId: string }): FilingDecision {
  const { revision: inboxRevision, position: inboxPosition, data } = mail.event;
  const { deliveryId, headers } = data;
  const decision: FilingDecision = {
    ...{ number, deliveryId, inboxRevision, inboxPosition, threadId, opensThread: false, absorbs: [], chainIds: [] },
    ...{ disposition: "threaded", reason: null, messageId: derivedId("message", deliveryId) },
    ...{ kind: "filed_by_hand", rfcMessageId: headers.messageId, contentDigest: headers.contentDigest },
    ...{ reviewReason: null, bouncedAttemptId: null },
  };
  return withReadResult(decision, mail);
}
