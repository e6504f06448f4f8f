import { draftsOfTokens, pendingDraftsOf, type TokenRow } from "#projections/drafts/queries.ts";
import { Behind } from "#src/eventStore/eventStore.ts";
import { tokenRuns, withoutRuns } from "#src/mail/in/links/tokenRuns.ts";
import { maxNotes, type ParsedMail } from "#src/mail/in/parsedMail.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import type { MailHeaders } from "#streams/inbox/events.ts";
import type { InboundMessage } from "#streams/thread/events.ts";
import { hashToken } from "../approvals/approvalTokens.ts";
import { requestsOfToken } from "../approvals/bundleLists.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { closeUnsubscribeLinks } from "../serviceMail/unsubscribes.ts";
import { readUnsubscribeToken, type UnsubscribeToken } from "../serviceMail/unsubscribeTokens.ts";
import {
  type MailReceivedEvent,
  missingBlobPatienceMs,
  type ReadMail,
  readMail,
  readReceivedAt,
  withMemoryFor,
} from "./readMail.ts";

/**
 * The thread in which a mail is filed. `threadIds`: that thread, and the threads that the mail merges into it. `opensThread`: true if the
 * mail is the thread's first.
 */
export type FilingTarget = { messageId: string; threadIds: readonly string[]; opensThread: boolean };

/** A mail as it may be shown, and what was removed from it: approval links. */
export type CleanMail = { mail: ReadMail; approvalLinks: InboundMessage["approvalLinks"] };

/**
 * Removes approval links from a mail, whichever workspace's draft they are about. Links that can still decide are closed first, so that no
 * reader of the mail can use them. Links that can no longer decide are removed too, so that a repetition gives the same result. Account
 * links (invitation, new password) are treated like approval links, because the person who opens one acts as the account's owner. `filed`:
 * absent if the mail is not filed. Throws Unavailable.
 */
export async function withoutApprovalLinks(
  deps: Dependencies,
  { mail, filed }: { mail: ReadMail; filed?: FilingTarget },
): Promise<CleanMail> {
  const { event, parsed } = mail;
  const { links, attachments, notes } = parsed;
  const { subject, from } = event.data.headers;
  const lines = [subject, from?.name ?? "", ...attachments.map(({ filename }) => filename ?? ""), ...notes];
  const runs = new Set([...links.found, ...lines.flatMap(runsIn)]);
  const { removed, tokens, stops } = await linksAmong(deps, { event, runs });
  for (const token of tokens) await closeLink(deps, { token, event, messageId: filed?.messageId });
  for (const stop of stops)
    await closeUnsubscribeLinks(deps, stop, causeOfClosing(event, { ...stop, id: deps.ids.uuid() }));
  const isSome = links.tooMany || removed.size > 0;
  if (!isSome) {
    const isClosed = links.hasClosed && (await mayHoldLiveLink(deps, { event, filed }));
    if (isClosed) return { mail: { ...mail, parsed: withNote(parsed, closedNote) }, approvalLinks: "unchecked" };
    return { mail, approvalLinks: links.unchecked ? "unchecked" : undefined };
  }
  const headers = cleanHeaders(event.data.headers, removed);
  const clean = {
    ...mail,
    event: { ...event, data: { ...event.data, headers } },
    parsed: cleanBodies(parsed, removed),
  };
  return { mail: clean, approvalLinks: "removed" };
}

const closedNote =
  "A part of the mail cannot be searched for approval links, so its source and its attachments need the scope write:approvals.";

const withNote = (parsed: ParsedMail, note: string): ParsedMail => ({
  ...parsed,
  notes: [note, ...parsed.notes].slice(0, maxNotes),
});

/** Maximum number of drafts whose links are checked for one mail. */
const maxPending = 50;

/**
 * Returns true if a mail with an unreadable part may contain a link that still decides about a pending draft. Checks the drafts of the
 * mail's threads; if the mail opens a thread (an approver may have forwarded it), all drafts of its identity. Also returns true if the mail
 * is not filed on a thread, or if there are too many drafts to check. Called once, at filing, because a link sent later cannot be in an
 * earlier mail.
 */
async function mayHoldLiveLink(
  deps: Dependencies,
  { event, filed }: { event: MailReceivedEvent; filed: FilingTarget | undefined },
): Promise<boolean> {
  if (filed === undefined) return true;
  if (!(await hasReached(deps, event))) return true;
  const now = deps.clock.now().getTime();
  const { workspaceId, identityId } = event.data;
  const pending = await pendingDraftsOf(deps.reads, workspaceId, {
    ...{ threadIds: filed.threadIds, identityId: filed.opensThread ? identityId : null, limit: maxPending + 1 },
  });
  if (pending.length > maxPending) return true;
  for (const id of pending) {
    const { open, closed } = (await deps.drafts.load(id)).state.notified;
    const isLive = ({ notificationId, expiresAt }: ApprovalRequest): boolean =>
      closed[notificationId] === undefined && Date.parse(expiresAt) > now;
    if (Object.values(open).some(isLive)) return true;
  }
  return false;
}

/**
 * For a mail that was not filed with its content: returns true if its raw bytes may be given to a reader who may not decide, because the
 * whole mail was checked and has no approval link. Closes the links that it finds. Throws Unavailable.
 */
export async function mayShowRawMail(
  deps: Dependencies,
  { identityId, revision }: { identityId: string; revision: number },
): Promise<boolean> {
  const event = await readReceivedAt(deps, identityId, revision);
  return withMemoryFor(deps, [event], async () => {
    const mail = await readMail(deps, event);
    return (await withoutApprovalLinks(deps, { mail })).approvalLinks === undefined;
  });
}

const runsIn = (line: string): string[] => tokenRuns(line).map(({ run }) => run);

type FoundLinks = { removed: ReadonlySet<string>; tokens: readonly TokenRow[] };

/**
 * Finds the text runs that are tokens: of approval links ever issued, of account links (which are revoked here), and of unsubscribe links
 * (`stops`), because an agent could use these to keep approvers from being asked.
 */
async function linksAmong(
  deps: Dependencies,
  { event, runs }: { event: MailReceivedEvent; runs: ReadonlySet<string> },
): Promise<FoundLinks & { stops: UnsubscribeToken[] }> {
  const others = new Set<string>();
  const stops = new Map<string, UnsubscribeToken>();
  for (const run of runs) {
    const stop = run.includes(".") ? readUnsubscribeToken(deps.keyRing, run) : undefined;
    if (stop) stops.set(run, stop);
    else if (!run.includes(".")) others.add(run);
  }
  const { removed, tokens } = await approvalLinksAmong(deps, { event, runs: others });
  const accounts = others.size === 0 ? [] : await deps.accounts.links.withdrawLeaked([...others]);
  return { removed: new Set([...removed, ...stops.keys(), ...accounts]), tokens, stops: [...stops.values()] };
}

/**
 * Finds the tokens of approval links. A link was issued before the mail that contains it, so the read model must first reach the mail's
 * position. If it does not for a long time, every run counts as a token, so that later mails do not wait for ever.
 */
async function approvalLinksAmong(
  deps: Dependencies,
  { event, runs }: { event: MailReceivedEvent; runs: ReadonlySet<string> },
): Promise<FoundLinks> {
  if (runs.size === 0) return { removed: runs, tokens: [] };
  if (!(await hasReached(deps, event))) return { removed: runs, tokens: [] };
  const runOf = new Map([...runs].map((run) => [hashToken(run), run]));
  const tokens = await draftsOfTokens(deps.reads, [...runOf.keys()]);
  return { removed: new Set(tokens.map(({ token_sha256 }) => runOf.get(token_sha256) as string)), tokens };
}

/**
 * Returns true if the read model has reached the mail's position, and false if it has not within `patienceMs` of the mail. Throws Behind
 * before that.
 */
async function hasReached(deps: Dependencies, { position, metadata }: MailReceivedEvent): Promise<boolean> {
  if (await deps.projected(position, { of: ["drafts"] })) return true;
  const waitedMs = deps.clock.now().getTime() - Date.parse(metadata.at);
  if (waitedMs <= missingBlobPatienceMs) throw new Behind(position, ["drafts"]);
  return false;
}

/** Closes the requests that the token decides about. An expired link needs no closing and no new link. */
async function closeLink(
  deps: Dependencies,
  { token, event, messageId }: { token: TokenRow; event: MailReceivedEvent; messageId: string | undefined },
): Promise<void> {
  const { workspace_id: workspaceId } = token;
  const isOwn = event.data.workspaceId === workspaceId;
  for (const { draftId, asked } of await requestsOfToken(deps, token)) {
    if (Date.parse(asked.expiresAt) <= deps.clock.now().getTime()) continue;
    const { notificationId } = asked;
    await deps.drafts.handle(
      draftId,
      {
        type: "CloseApprovalLink",
        notificationId,
        because: "link_leaked",
        ...(isOwn && messageId !== undefined && { messageId }),
      },
      causeOfClosing(event, { workspaceId, id: notificationId }),
    );
  }
}

/**
 * Returns the cause for closing a link. If the link is another workspace's, the closed request (`id`) is named as its own cause, because
 * that workspace must not learn of this workspace's mail, not even by an id.
 */
function causeOfClosing(event: MailReceivedEvent, { workspaceId, id }: { workspaceId: string; id: string }): Cause {
  const isOwn = event.data.workspaceId === workspaceId;
  const about = isOwn
    ? { correlationId: event.metadata.correlationId, causationId: event.id }
    : { correlationId: id, causationId: id };
  return { actor: { kind: "system", id: "fileInboundEmail" }, workspaceId, ...about };
}

function cleanHeaders(headers: MailHeaders, removed: ReadonlySet<string>): MailHeaders {
  const { subject, from } = headers;
  const name = from && cleanLine(from.name, removed);
  return { ...headers, subject: cleanLine(subject, removed), from: from && { ...from, name: name as string } };
}

function cleanBodies(parsed: ParsedMail, removed: ReadonlySet<string>): ParsedMail {
  const { bodyText, bodyHtml, extractedText, attachments, notes, links } = parsed;
  const isRemoved = (index: number): boolean => removed.has(links.found[index] as string);
  const { text, html, extracted } = links.places;
  return {
    ...parsed,
    bodyText: bodyText && withoutRuns(bodyText, text, isRemoved),
    bodyHtml: bodyHtml && withoutRuns(bodyHtml, html, isRemoved),
    extractedText: withoutRuns(extractedText, extracted, isRemoved),
    attachments: attachments.map((each) => ({ ...each, filename: each.filename && cleanLine(each.filename, removed) })),
    notes: notes.map((note) => cleanLine(note, removed)),
  };
}

function cleanLine(line: string, removed: ReadonlySet<string>): string {
  const runs = tokenRuns(line);
  const places = runs.flatMap(({ start, end }, index) => [start, end, index]);
  return withoutRuns(line, places, (index) => removed.has(runs[index]?.run as string));
}
