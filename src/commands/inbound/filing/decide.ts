import { boundedIds } from "#src/mail/in/messageIds.ts";
import { isHeld, isMessage } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { MailHeaders } from "#streams/inbox/events.ts";
import { kindToStore } from "#streams/inbox/mailKinds.ts";
import type { Dependencies } from "../../dependencies.ts";
import type { Cause } from "../../handle.ts";
import { freshStates } from "../../states/loader.ts";
import { markHeld } from "../heldMail.ts";
import type { MailReceivedEvent, ReadMail } from "../readMail.ts";
import { type Chains, learnDecisions, loadDecisions, survivingThread } from "./chains.ts";
import { idsToJudge, judgeMail, type MailJudgement } from "./judgeMail.ts";

/** Maximum size in bytes of one append's decisions as JSON: well below what a store accepts with metadata (eventStore.ts). */
const maxDecisionBytes = 500_000;

/** Mails of one identity to be decided together. `lastNumber`: the newest filing number given before these mails. */
export type FilingPage = {
  identityId: string;
  lastNumber: number;
  mails: readonly MailReceivedEvent[];
  chains: Chains;
};

/**
 * Decides for each mail of a page whose it is (judgeMail.ts) and to which thread it belongs, and then which mails are held. Only mail that
 * may be our own or a reaction is read for that; other repeated and held mails are never read. Returns decisions for the first mails, as many as fit into one append; the next turn decides the rest.
 */
export async function decideFilings(deps: Dependencies, page: FilingPage, cause: Cause): Promise<FilingDecision[]> {
  const { identityId } = page;
  const { workspaceId } = (page.mails[0] as MailReceivedEvent).data;
  const decisions = await decideInOrder(deps, page);
  return markHeld(freshStates(deps), { workspaceId, identityId, decisions }, cause);
}

/** Returns true if the mail's content will be shown, so the mail must be read. */
export const isShown = (decision: FilingDecision): boolean => isMessage(decision) && !isHeld(decision);

/**
 * Decides the mails in order. The index of Message-IDs may lag behind, so decisions that it does not contain yet are read from the filing
 * stream; two mails in quick succession therefore find each other. Adds each decision to `chains`.
 */
async function decideInOrder(
  deps: Dependencies,
  { identityId, lastNumber, mails, chains }: FilingPage,
): Promise<FilingDecision[]> {
  const headersOf = mails.map(({ data: { headers } }) => headers);
  const ids = [...new Set(headersOf.flatMap((each) => [...namedIds(deps, identityId, each), ...idsToJudge(each)]))];
  const own = ids.map((id) => originIn(deps, identityId, [id])?.threadId).filter((id) => id !== undefined);
  const asked = headersOf.map(({ messageId, contentDigest }) => ({ rfcMessageId: messageId, contentDigest }));
  await loadDecisions(deps, chains, { identityId, ids, own: [...new Set(own)], mails: asked });
  const decisions: FilingDecision[] = [];
  let bytes = 0;
  for (const mail of mails) {
    const number = lastNumber + decisions.length + 1;
    const judgement =
      receivedBefore(chains, mail.data.headers) !== undefined ? undefined : await judgeMail(deps, { mail, chains });
    const decision = decideFiling(deps, { identityId, number, mail, judgement }, chains);
    bytes += bytesOf(decision);
    if (decisions.length > 0 && bytes > maxDecisionBytes) break;
    learnDecisions(chains, decision);
    decisions.push(decision);
  }
  return decisions;
}

const bytesOf = (decision: FilingDecision): number => Buffer.byteLength(JSON.stringify(decision));

/** Returns the first decisions, as many as fit into one append. */
export function takeForOneAppend(decisions: readonly FilingDecision[]): FilingDecision[] {
  let bytes = 0;
  const end = decisions.findIndex((decision, index) => {
    bytes += bytesOf(decision);
    return index > 0 && bytes > maxDecisionBytes;
  });
  return decisions.slice(0, end < 0 ? undefined : end);
}

/** Returns the id of the message that is this very mail, received before; undefined if there is none. */
const receivedBefore = (chains: Chains, { messageId, contentDigest }: MailHeaders): string | undefined =>
  chains.messages.get(messageId)?.get(contentDigest);

/**
 * Returns the Message-IDs that determine a mail's thread. For a report these are the reported Message-IDs of our own mail; without any, the
 * report's References and those of the reported mail. If there are none either, only the first reported id counts, because several foreign
 * ids could join unrelated threads. An automatic reply that names no mail joins a mail of ours that it quotes. Uses the headers only, not
 * what is known so far, so that the order of arrival does not matter.
 */
function namedIds(deps: Dependencies, identityId: string, headers: MailHeaders): string[] {
  const { reportedMessageIds, reportedReferences = [], threadIds } = headers;
  const own = reportedMessageIds.filter((id) => originIn(deps, identityId, [id]) !== undefined);
  if (!isReport(headers)) return threadIds.length > 0 ? threadIds : own;
  if (own.length > 0) return own;
  const named = boundedIds([...new Set([...threadIds, ...reportedReferences])]);
  return named.length > 0 ? named : reportedMessageIds.slice(0, 1);
}

const isReport = ({ classification, isReport: ofAny, isComplaint }: MailHeaders): boolean =>
  ofAny === true || classification === "bounce" || isComplaint === true;

/**
 * Returns the delivery attempt whose mail is reported. Identifies it by the mail enclosed in the report, otherwise by the mail that the
 * report answers.
 */
function reportedAttempt(deps: Dependencies, identityId: string, headers: MailHeaders): string | null {
  if (!isReport(headers)) return null;
  const ids = [...headers.reportedMessageIds, ...(headers.inReplyTo === null ? [] : [headers.inReplyTo])];
  return originIn(deps, identityId, ids)?.attemptId ?? null;
}

/** A mail to be decided. `judgement`: absent for a mail that was received before. */
type ToDecide = { identityId: string; number: number; mail: MailReceivedEvent; judgement: MailJudgement | undefined };

function decideFiling(
  deps: Dependencies,
  { identityId, number, mail, judgement }: ToDecide,
  chains: Chains,
): FilingDecision {
  const { revision: inboxRevision, position: inboxPosition } = mail;
  const { headers, deliveryId } = mail.data;
  const { messageId: rfcMessageId, contentDigest } = headers;
  const own = headers.messageIdDerived ? [] : [rfcMessageId];
  const named = namedIds(deps, identityId, headers);
  const [oldest, ...absorbs] = threadsOf(deps, { identityId, ids: [...own, ...named] }, chains);
  const common = { number, deliveryId, inboxRevision, inboxPosition, rfcMessageId, contentDigest };
  const aside = {
    ...common,
    opensThread: false,
    absorbs: [],
    chainIds: [],
    reviewReason: null,
    bouncedAttemptId: null,
  };
  if (judgement === undefined) {
    return {
      ...aside,
      disposition: "duplicate",
      reason: "this message was already received",
      messageId: receivedBefore(chains, headers) as string,
      threadId: oldest ?? survivingThread(chains, chains.threadOf.get(rfcMessageId) ?? ""),
    };
  }
  const { kind, classification, ours, emoji } = judgement;
  if (ours && kind === "own_copy") {
    const { messageId } = ours;
    const threadId = survivingThread(chains, ours.threadId);
    // An id that a relay gave our mail: answers may name it alone.
    const chainIds = originIn(deps, identityId, own) ? [] : own;
    const reason = "our own mail came back with our words unchanged";
    return { ...aside, chainIds, disposition: kind, reason, messageId, threadId };
  }
  const filed = {
    ...common,
    reason: null,
    threadId: oldest ?? deps.ids.uuid(),
    opensThread: oldest === undefined,
    absorbs,
    chainIds: [...new Set([rfcMessageId, ...named])],
    bouncedAttemptId: reportedAttempt(deps, identityId, headers),
  };
  if (ours && emoji !== undefined)
    return { ...filed, disposition: "reaction", messageId: ours.messageId, emoji, reviewReason: null };
  const found = { sameIdOtherContent: chains.messages.has(rfcMessageId), absorbed: absorbs.length };
  return {
    ...filed,
    disposition: "threaded",
    messageId: deps.ids.uuid(),
    ...kindToStore(kind, classification),
    ...(classification !== headers.classification && { classification }),
    ...(ours && kind !== "altered_copy" && { sentBy: ours.identityId }),
    reviewReason: judgement.reviewReason ?? reviewReason(headers, found),
    ...(headers.isComplaint && { isComplaint: headers.isComplaint }),
  };
}

/** Returns the threads that these ids lead to now, the oldest first. */
function threadsOf(
  deps: Dependencies,
  { identityId, ids }: { identityId: string; ids: readonly string[] },
  chains: Chains,
): string[] {
  const found = new Set<string>();
  for (const id of ids) {
    const known = chains.threadOf.get(id);
    const origin = known === undefined ? originIn(deps, identityId, [id]) : undefined;
    for (const threadId of [known ?? origin?.threadId, chains.sentOn.get(id)])
      if (threadId !== undefined) found.add(survivingThread(chains, threadId));
  }
  const opened = (threadId: string) => chains.openedNumber.get(threadId) ?? 0;
  return [...found].sort((a, b) => opened(a) - opened(b) || (a < b ? -1 : 1));
}

/** Returns the origin (thread and attempt) encoded in Message-IDs of this identity's own mail. Ignores ids of other identities. */
function originIn(deps: Dependencies, identityId: string, ids: readonly string[]) {
  for (const id of ids) {
    const origin = deps.messageIds.open(id);
    if (origin?.identityId === identityId) return origin;
  }
  return undefined;
}

function reviewReason(headers: MailHeaders, found: { sameIdOtherContent: boolean; absorbed: number }): string | null {
  if (found.sameIdOtherContent) return "another message with the same Message-ID";
  if (found.absorbed > 1) return "one mail joined more than two threads";
  if (headers.fromCount > 1) return "a mail with more than one sender";
  return null;
}

/**
 * Changes a decision after its mail was read, if the mail could not be read or only in part. If `mail` is absent, it was not read, and the
 * decision is returned unchanged.
 */
export function withReadResult(decision: FilingDecision, mail: ReadMail | undefined): FilingDecision {
  if (!mail) return decision;
  const { unreadable } = mail.parsed;
  if (unreadable !== null) {
    const reviewReason = "a mail that could not be read";
    return { ...decision, disposition: "quarantined", reason: unreadable, reviewReason };
  }
  const reason = leftOut(mail);
  const reviewReason = decision.reviewReason ?? (reason === null ? null : "a mail that was read only in part");
  return { ...decision, disposition: "threaded", reason, reviewReason };
}

/** Describes the parts of a mail that were not read; null if all of it was. */
function leftOut({ event, parsed }: ReadMail): string | null {
  const { cut = [] } = event.data.headers;
  const fields = cut.length > 0 ? [`only the first part of these was read: ${cut.join(", ")}`] : [];
  const said = [...fields, ...(parsed.cut === null ? [] : [parsed.cut])];
  return said.length === 0 ? null : said.join("; ");
}
