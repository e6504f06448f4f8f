import type { QuotaRoom } from "#src/channels/channel.ts";
import { mailboxOf, type QuotaPlace } from "#src/mail/out/measure/measure.ts";
import type { Dependencies } from "../dependencies.ts";
import { requireNotPaused } from "../installation.ts";
import { isStopped } from "./stops.ts";

/**
 * What a mail of the service's own is for: an approval is asked for, or it is told what became of a draft; somebody is invited to the workspace or has
 * joined it; news, a test, what a rule tells people, or a new stop link.
 */
export type NoticeKind = "approval" | "outcome" | "members" | "notice" | "test" | "rule" | "stop_link";

/** A chat as it is counted by: whatever names it, among the chats of all providers. */
export type Chat = { chat: string };

/** Of a mail or post of the service's own: what it is for, on whose behalf it is sent, to whom (an address or a chat), and which attempt it is. */
export type Leaving = { kind: NoticeKind; workspaceId: string; to: string | Chat; attemptId: string };

/** Why it did not leave, in words. `again`: a later try may succeed; `inMs`: it waits for a place in its measure, which there is after that. */
export type NotSent = { sent: false; error: string; again: boolean; inMs?: number };

/** What the operator's metric tells apart. */
type Why = "mailbox_full" | "workspace_full" | "stopped" | "paused";

/** Without a longer wait, many that wait for one place would ask for it without end. */
const shortestWaitMs = 60_000;

/** Approvals and what came of them; the rest is what others make the service write. */
const isAboutApproval = (kind: NoticeKind): boolean => kind === "approval" || kind === "outcome";

/**
 * Why it may not leave now, whatever the measures say: the mailbox's reader has stopped it, or the workspace has paused sending, which keeps
 * back all but requests to approvers, outcomes, and what concerns its members. Throws PausedByOperator.
 */
export async function whyNotNow(
  deps: Dependencies,
  { kind, workspaceId, to }: Omit<Leaving, "attemptId">,
): Promise<NotSent | undefined> {
  await requireNotPaused(deps);
  // Its reader asked for it, and without it could not let the mail come again.
  if (kind === "stop_link") return undefined;
  if (typeof to === "string" && (await isStopped(deps, { workspaceId, address: to }))) {
    const error = `mail from this workspace to ${to} was stopped by its reader: name another address, or ask its reader to resume it with the link under any such mail`;
    return withheld(deps, { kind, why: "stopped", error });
  }
  if (isAboutApproval(kind) || kind === "members") return undefined;
  if (!(await deps.workspaces.load(workspaceId)).state.sendingPaused) return undefined;
  const error = "sending is paused in this workspace: only requests to approvers, outcomes and invitations leave";
  return withheld(deps, { kind, why: "paused", error });
}

/** A place in the measure of its kind, or why there is none. Undefined where mail is not measured. Throws Unavailable. */
export async function takePlace(
  deps: Dependencies,
  { kind, workspaceId, to, attemptId }: Leaving,
): Promise<Extract<QuotaPlace, { taken: true }> | NotSent | undefined> {
  const measure = isAboutApproval(kind) ? "approvals" : "notices";
  const mailbox = typeof to === "string" ? mailboxOf(to) : to.chat;
  const place = await deps.mailMeasure?.take({ attemptId, measure, mailbox, workspaceId });
  if (!place || place.taken) return place;
  const addressee = typeof to === "string" ? "this address" : "this chat";
  const whose = place.fullFor === "mailbox" ? addressee : "this workspace";
  const inMs = Math.max(place.inMs, shortestWaitMs);
  const what = measure === "approvals" ? "requests to approvers and outcomes" : "mails of rules, tests and notices";
  const waits = measure === "approvals" || kind === "members";
  const end = waits ? "it waits until there is room again" : "it was dropped";
  const error = `the hour's measure of ${what} for ${whose} is full (SERVICE_MAIL_PER_HOUR): ${end}`;
  const none = withheld(deps, { kind, why: `${place.fullFor}_full`, error });
  return { ...none, again: waits, inMs };
}

/** A place for a request to approvers, which is taken before the request is recorded. */
export async function roomForApproval(deps: Dependencies, request: Omit<Leaving, "kind">): Promise<QuotaRoom> {
  const place = await takePlace(deps, { kind: "approval", ...request });
  if (!place || "taken" in place) return { giveBack: () => giveBack(deps, request.attemptId) };
  const { sent, ...why } = place;
  return { reached: sent, ...why };
}

/** Takes back the place of a mail that did not leave. */
export async function giveBack(deps: Dependencies, attemptId: string): Promise<void> {
  // A place too few for an hour is better than a failure on top of a failure.
  await deps.mailMeasure?.giveBack(attemptId).catch(() => undefined);
}

function withheld(deps: Dependencies, { kind, why, error }: { kind: NoticeKind; why: Why; error: string }): NotSent {
  deps.countWithheld?.(kind, why);
  return { sent: false, error, again: false };
}
