import { draftsOfTokens, pendingDraftsOf, type TokenRow } from "#projections/drafts/queries.ts";
import { Behind } from "#src/eventStore/eventStore.ts";
import { tokenRuns, withoutRuns } from "#src/mail/in/links/tokenRuns.ts";
import { maxNotes, type ParsedMail } from "#src/mail/in/parsedMail.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import type { MailHeaders } from "#streams/inbox/events.ts";
import type { InboundMessage } from "#streams/thread/events.ts";
import { hashToken } from "../approvals/approvalTokens.ts";
import { requestsBehind } from "../approvals/bundleLists.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { readStopToken, type StopToken } from "../serviceMail/stopLinks.ts";
import { closeStopLinks } from "../serviceMail/stops.ts";
import { patienceMs, type ReadMail, type Received, readMail, receivedAt, withRoom } from "./readMail.ts";

/** Message that a mail is filed as. `threadIds`: its thread, and the threads that this mail merges into it. `opensThread`: no mail came before it. */
export type Filed = { messageId: string; threadIds: readonly string[]; opensThread: boolean };

/** A mail as it may be shown, and what it had of approval links. */
export type CleanMail = { mail: ReadMail; approvalLinks: InboundMessage["approvalLinks"] };

/**
 * The mail without approval links. Those that still decide are closed first, whichever workspace's draft they are about: anyone who reads the mail
 * from now on cannot decide by them. Those that decide nothing any more are taken out too, so this comes to the same however often it is done.
 * The links of people's accounts (an invitation, a new password) are treated the same: who follows one decides as that person.
 * `filed`: absent if the mail is not filed. Throws Unavailable.
 */
export async function withoutApprovalLinks(
  deps: Dependencies,
  { mail, filed }: { mail: ReadMail; filed?: Filed },
): Promise<CleanMail> {
  const { event, parsed } = mail;
  const { links, attachments, notes } = parsed;
  const { subject, from } = event.data.headers;
  const lines = [subject, from?.name ?? "", ...attachments.map(({ filename }) => filename ?? ""), ...notes];
  const runs = new Set([...links.found, ...lines.flatMap(runsIn)]);
  const { removed, tokens, stops } = await linksAmong(deps, { event, runs });
  for (const token of tokens) await closeLink(deps, { token, event, messageId: filed?.messageId });
  for (const stop of stops) await closeStopLinks(deps, stop, causeOfClosing(event, { ...stop, id: deps.ids.uuid() }));
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
  "A part of the mail cannot be looked through for approval links: its source and its attachments need the scope write:approvals.";

const withNote = (parsed: ParsedMail, note: string): ParsedMail => ({
  ...parsed,
  notes: [note, ...parsed.notes].slice(0, maxNotes),
});

/** Drafts whose links are looked at for one mail. */
const maxPending = 50;

/**
 * True if a link works that the mail may hold: to a pending draft of its threads, or of its identity if the mail opens a thread, as one that an
 * approver forwards does. Judged once, when the mail is filed: a link that is sent later is in no mail that came before. A mail that is not filed
 * on a thread may hold any link, and so may one beside more drafts than are looked at.
 */
async function mayHoldLiveLink(
  deps: Dependencies,
  { event, filed }: { event: Received; filed: Filed | undefined },
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
 * Whether a mail that is not filed with its content can be given as it came to somebody who may not decide: all of it was looked through, and it has no
 * approval link. One that it has is closed. Throws Unavailable.
 */
export async function isFreeAsItCame(
  deps: Dependencies,
  { identityId, revision }: { identityId: string; revision: number },
): Promise<boolean> {
  const event = await receivedAt(deps, identityId, revision);
  return withRoom(deps, [event], async () => {
    const mail = await readMail(deps, event);
    return (await withoutApprovalLinks(deps, { mail })).approvalLinks === undefined;
  });
}

const runsIn = (line: string): string[] => tokenRuns(line).map(({ run }) => run);

type Links = { removed: ReadonlySet<string>; tokens: readonly TokenRow[] };

/**
 * Which runs are tokens of approval links that were ever given out, of account links, which end here, or of links that stop our mail (`stops`): by one of
 * those an agent could see to it that no approver is asked.
 */
async function linksAmong(
  deps: Dependencies,
  { event, runs }: { event: Received; runs: ReadonlySet<string> },
): Promise<Links & { stops: StopToken[] }> {
  const others = new Set<string>();
  const stops = new Map<string, StopToken>();
  for (const run of runs) {
    const stop = run.includes(".") ? readStopToken(deps.keyRing, run) : undefined;
    if (stop) stops.set(run, stop);
    else if (!run.includes(".")) others.add(run);
  }
  const { removed, tokens } = await approvalLinksAmong(deps, { event, runs: others });
  const accounts = others.size === 0 ? [] : await deps.accounts.links.withdrawLeaked([...others]);
  return { removed: new Set([...removed, ...stops.keys(), ...accounts]), tokens, stops: [...stops.values()] };
}

/**
 * Each was given out before the mail came that holds it, so the read model has to have reached the mail. If it does not for a long time, every run
 * counts as one: the mails behind do not wait for ever.
 */
async function approvalLinksAmong(
  deps: Dependencies,
  { event, runs }: { event: Received; runs: ReadonlySet<string> },
): Promise<Links> {
  if (runs.size === 0) return { removed: runs, tokens: [] };
  if (!(await hasReached(deps, event))) return { removed: runs, tokens: [] };
  const runOf = new Map([...runs].map((run) => [hashToken(run), run]));
  const tokens = await draftsOfTokens(deps.reads, [...runOf.keys()]);
  return { removed: new Set(tokens.map(({ token_sha256 }) => runOf.get(token_sha256) as string)), tokens };
}

/** True if the read model has reached the mail's position; false if it still has not after `patienceMs`. Throws Behind until then. */
async function hasReached(deps: Dependencies, { position, metadata }: Received): Promise<boolean> {
  if (await deps.projected(position, { of: ["drafts"] })) return true;
  const waitedMs = deps.clock.now().getTime() - Date.parse(metadata.at);
  if (waitedMs <= patienceMs) throw new Behind(position, ["drafts"]);
  return false;
}

/** Closes what the token decides about. One whose time is over needs no closing, nor a new one. */
async function closeLink(
  deps: Dependencies,
  { token, event, messageId }: { token: TokenRow; event: Received; messageId: string | undefined },
): Promise<void> {
  const { workspace_id: workspaceId } = token;
  const isOwn = event.data.workspaceId === workspaceId;
  for (const { draftId, asked } of await requestsBehind(deps, token)) {
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

/** Another workspace is not told of this one's mail, not by an id either: there the cause is what was closed (`id`) itself. */
function causeOfClosing(event: Received, { workspaceId, id }: { workspaceId: string; id: string }): Cause {
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
