import type { QuotaRoom } from "#src/channels/channel.ts";
import { mailboxOf, type QuotaPlace } from "#src/mail/out/quota/notificationQuota.ts";
import type { Dependencies } from "../dependencies.ts";
import { requireNotPaused } from "../installation.ts";
import { isUnsubscribed } from "./unsubscribes.ts";

/**
 * Purpose of a notification mail: an approval request, the outcome of a draft, an invitation or a new member, a notice, a test, a
 * rule's notice, or a new unsubscribe link.
 */
export type NoticeKind = "approval" | "outcome" | "members" | "notice" | "test" | "rule" | "stop_link";

/** A chat that the quota counts. `chat`: its name with its provider. */
export type Chat = { chat: string };

/** A notification to be sent: purpose, workspace, recipient (an address or a chat), and attempt. */
export type OutgoingNotice = { kind: NoticeKind; workspaceId: string; to: string | Chat; attemptId: string };

/** Why a notification was not sent. `again`: true if a later try may succeed. `inMs`: milliseconds until there is quota again. */
export type NotSent = { sent: false; error: string; again: boolean; inMs?: number };

/** Reasons that the operator's metric distinguishes. */
type WithheldReason = "mailbox_full" | "workspace_full" | "stopped" | "paused";

/**
 * Minimum wait in milliseconds before the next try. Many notifications that wait for one unit of quota would otherwise retry without end.
 */
const shortestWaitMs = 60_000;

/** Returns true for approval requests and outcomes. Notifications of other kinds result from users' settings. */
const isAboutApproval = (kind: NoticeKind): boolean => kind === "approval" || kind === "outcome";

/**
 * Returns why a notification must not be sent now, apart from quota: its mailbox unsubscribed, or the workspace has paused sending, which
 * withholds everything except approval requests, outcomes, mail about members and new unsubscribe links. Throws PausedByOperator.
 */
export async function whyNoticeWithheld(
  deps: Dependencies,
  { kind, workspaceId, to }: Omit<OutgoingNotice, "attemptId">,
): Promise<NotSent | undefined> {
  await requireNotPaused(deps);
  // The reader requested this link, and needs it to subscribe again.
  if (kind === "stop_link") return undefined;
  if (typeof to === "string" && (await isUnsubscribed(deps, { workspaceId, address: to }))) {
    const error = `the recipient has stopped mail from this workspace to ${to}: use another address, or ask the recipient to resume it with the link under any such mail`;
    return withheld(deps, { kind, why: "stopped", error });
  }
  if (isAboutApproval(kind) || kind === "members") return undefined;
  if (!(await deps.workspaces.load(workspaceId)).state.sendingPaused) return undefined;
  const error = "sending is paused in this workspace: only requests to approvers, outcomes and invitations are sent";
  return withheld(deps, { kind, why: "paused", error });
}

/**
 * Takes quota for a notification; if there is none, returns why. Returns undefined if notifications are not limited. Throws Unavailable.
 */
export async function takeNoticeQuota(
  deps: Dependencies,
  { kind, workspaceId, to, attemptId }: OutgoingNotice,
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
  const end = waits ? "it is sent as soon as the quota allows it" : "it was not sent";
  const error = `the hourly quota of ${what} for ${whose} is used up (SERVICE_MAIL_PER_HOUR): ${end}`;
  const none = withheld(deps, { kind, why: `${place.fullFor}_full`, error });
  return { ...none, again: waits, inMs };
}

/** Takes quota for an approval request, before the request is recorded. */
export async function takeApprovalQuota(deps: Dependencies, request: Omit<OutgoingNotice, "kind">): Promise<QuotaRoom> {
  const place = await takeNoticeQuota(deps, { kind: "approval", ...request });
  if (!place || "taken" in place) return { giveBack: () => returnNoticeQuota(deps, request.attemptId) };
  const { sent, ...why } = place;
  return { reached: sent, ...why };
}

/** Gives back the quota of a notification that was not sent. */
export async function returnNoticeQuota(deps: Dependencies, attemptId: string): Promise<void> {
  // Ignore a failure: losing one unit of quota for an hour is better than a second error.
  await deps.mailMeasure?.giveBack(attemptId).catch(() => undefined);
}

function withheld(
  deps: Dependencies,
  { kind, why, error }: { kind: NoticeKind; why: WithheldReason; error: string },
): NotSent {
  deps.countWithheld?.(kind, why);
  return { sent: false, error, again: false };
}
