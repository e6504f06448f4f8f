import { boundedIds } from "#src/mail/in/messageIds.ts";
import { isHeld } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { MailHeaders } from "#streams/inbox/events.ts";
import type { Dependencies } from "../../dependencies.ts";
import type { Cause } from "../../handle.ts";
import { freshStates } from "../../states/loader.ts";
import { markHeld } from "../heldMail.ts";
import type { MailReceivedEvent, ReadMail } from "../readMail.ts";
import { type Chains, learnDecisions, loadDecisions, survivingThread } from "./chains.ts";

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
 * Decides for each mail of a page to which thread it belongs, by its headers only, and then which mails are held. Repeated and held mails
 * are therefore never read. Returns decisions for the first mails, as many as fit into one append; the next turn decides the rest.
 */
export async function decideFilings(deps: Dependencies, page: FilingPage, cause: Cause): Promise<FilingDecision[]> {
  const { identityId } = page;
  const { workspaceId } = (page.mails[0] as MailReceivedEvent).data;
  const decisions = await decideByHeaders(deps, page);
  return markHeld(freshStates(deps), { workspaceId, identityId, decisions }, cause);
}

/** Returns true if the mail's content will be shown, so the mail must be read. */
export const isShown = (decision: FilingDecision): boolean => decision.disposition !== "duplicate" && !isHeld(decision);

/**
 * Decides the mails in order. The index of Message-IDs may lag behind, so decisions that it does not contain yet are read from the filing
 * stream; two mails in quick succession therefore find each other. Adds each decision to `chains`.
 */
async function decideByHeaders(
  deps: Dependencies,
  { identityId, lastNumber, mails, chains }: FilingPage,
): Promise<FilingDecision[]> {
  const headersOf = mails.map(({ data: { headers } }) => headers);
  const ids = [...new Set(headersOf.flatMap((each) => [each.messageId, ...namedIds(deps, identityId, each)]))];
  const own = ids.map((id) => ownMail(deps, identityId, [id])?.threadId).filter((id) => id !== undefined);
  const asked = headersOf.map(({ messageId, contentDigest }) => ({ rfcMessageId: messageId, contentDigest }));
  await loadDecisions(deps, chains, { identityId, ids, own: [...new Set(own)], mails: asked });
  const decisions: FilingDecision[] = [];
  let bytes = 0;
  for (const mail of mails) {
    const decision = decideFiling(deps, { identityId, number: lastNumber + decisions.length + 1, mail }, chains);
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

/**
 * Returns the Message-IDs that determine a mail's thread. For a bounce these are the reported Message-IDs of our own mail; without any, the
 * bounce's References and those of the reported mail. If there are none either, only the first reported id counts, because several foreign
 * ids could join unrelated threads. Uses the headers only, not what is known so far, so that the order of arrival does not matter.
 */
function namedIds(deps: Dependencies, identityId: string, headers: MailHeaders): string[] {
  const { reportedMessageIds, reportedReferences = [], threadIds } = headers;
  if (!reportsOurs(headers)) return threadIds;
  const own = reportedMessageIds.filter((id) => ownMail(deps, identityId, [id]) !== undefined);
  if (own.length > 0) return own;
  const named = boundedIds([...new Set([...threadIds, ...reportedReferences])]);
  return named.length > 0 ? named : reportedMessageIds.slice(0, 1);
}

const reportsOurs = ({ classification, isComplaint }: MailHeaders): boolean =>
  classification === "bounce" || isComplaint === true;

/**
 * Returns the delivery attempt whose mail bounced or caused a complaint. Identifies it by the mail enclosed in the report, otherwise by the
 * mail that the report answers.
 */
function reportedAttempt(deps: Dependencies, identityId: string, headers: MailHeaders): string | null {
  if (!reportsOurs(headers)) return null;
  const ids = [...headers.reportedMessageIds, ...(headers.inReplyTo === null ? [] : [headers.inReplyTo])];
  return ownMail(deps, identityId, ids)?.attemptId ?? null;
}

function decideFiling(
  deps: Dependencies,
  { identityId, number, mail }: { identityId: string; number: number; mail: MailReceivedEvent },
  chains: Chains,
): FilingDecision {
  const { revision: inboxRevision, position: inboxPosition } = mail;
  const { headers, deliveryId } = mail.data;
  const { messageId: rfcMessageId, contentDigest } = headers;
  const sameId = chains.messages.get(rfcMessageId);
  const again = sameId?.get(contentDigest);
  const own = headers.messageIdDerived ? [] : [rfcMessageId];
  const named = namedIds(deps, identityId, headers);
  const chainIds = [...new Set([rfcMessageId, ...named])];
  const threads = threadsOf(deps, { identityId, ids: [...own, ...named] }, chains);
  const [oldest, ...absorbs] = threads;
  const common = { number, deliveryId, inboxRevision, inboxPosition, rfcMessageId, contentDigest };
  if (again !== undefined) {
    return {
      ...common,
      disposition: "duplicate",
      reason: "this message was already received",
      messageId: again,
      threadId: oldest ?? survivingThread(chains, chains.threadOf.get(rfcMessageId) ?? ""),
      opensThread: false,
      absorbs: [],
      chainIds: [],
      reviewReason: null,
      bouncedAttemptId: null,
    };
  }
  return {
    ...common,
    disposition: "threaded",
    reason: null,
    messageId: deps.ids.uuid(),
    threadId: oldest ?? deps.ids.uuid(),
    opensThread: oldest === undefined,
    absorbs,
    chainIds,
    reviewReason: reviewReason(headers, { sameIdOtherContent: sameId !== undefined, absorbed: absorbs.length }),
    ...(headers.isComplaint && { isComplaint: headers.isComplaint }),
    bouncedAttemptId: reportedAttempt(deps, identityId, headers),
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
    const origin = known === undefined ? ownMail(deps, identityId, [id]) : undefined;
    const threadId = known ?? origin?.threadId;
    if (threadId !== undefined) found.add(survivingThread(chains, threadId));
  }
  const opened = (threadId: string) => chains.openedNumber.get(threadId) ?? 0;
  return [...found].sort((a, b) => opened(a) - opened(b) || (a < b ? -1 : 1));
}

/** Returns the origin (thread and attempt) encoded in Message-IDs of this identity's own mail. Ignores ids of other identities. */
function ownMail(deps: Dependencies, identityId: string, ids: readonly string[]) {
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
