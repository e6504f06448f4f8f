import type { MailProvider } from "#src/mail/mailProvider.ts";
import { withFooter } from "#src/mail/out/footer.ts";
import { mailboxOf, type Place } from "#src/mail/out/measure/measure.ts";
import type { MailOrigin } from "#src/mail/out/messageIds.ts";
import { renderNotice } from "#src/mail/out/render.ts";
import type { Dependencies } from "../dependencies.ts";
import { PausedByOperator, requireNotPaused } from "../installation.ts";
import { stopToken } from "./stopLinks.ts";
import { isStopped } from "./stops.ts";

/** What a mail of the service's own is for: an approval is asked for, or it is told what became of a draft; news, a test, or what a rule tells people. */
export type NoticeKind = "approval" | "outcome" | "notice" | "test" | "rule";

/** A mail of the service's own, and the workspace on whose behalf it is sent. The same origin gives the same Message-ID. */
export type Notice = {
  kind: NoticeKind;
  workspaceId: string;
  origin: MailOrigin;
  to: string;
  subject: string;
  text: string;
  html: string;
};

/**
 * Whether it left; if not, why, in words. `again`: a later try may succeed. `inMs`: it only waits for room in the service's own measure of such
 * mail, which there is after so many milliseconds: such a wait is no failed try.
 */
export type NoticeOutcome = { sent: true } | NotSent;
type NotSent = { sent: false; error: string; again: boolean; inMs?: number };

/** Why the service keeps a mail of its own back. */
export type Withheld = "mailbox_full" | "workspace_full" | "stopped" | "paused";

/** Without a longer wait, many that wait for one place would ask for it without end. */
const shortestWaitMs = 60_000;

/**
 * Sends one now, with the link by which its reader stops such mail. Nothing leaves to an address that stopped it, above the measure of its kind,
 * and, while the workspace has paused sending, nothing but requests to approvers and outcomes: all this is asked once more right before the
 * first byte of content. What did not leave is not counted. Throws PausedByOperator while nothing may leave at all.
 */
export async function sendNotice(deps: Dependencies, provider: MailProvider, notice: Notice): Promise<NoticeOutcome> {
  const notNow = await whyNotNow(deps, notice);
  if (notNow) return notNow;
  const place = await takePlace(deps, notice).catch((error: Error) => failed(error.message));
  if (place && "sent" in place) return place;
  const { outcome, mayHaveLeft } = await handOver(deps, provider, notice);
  if (!mayHaveLeft && place?.isNew) await deps.mailMeasure?.giveBack(notice.origin.attemptId).catch(() => undefined);
  if (outcome instanceof PausedByOperator) throw outcome;
  return outcome;
}

/** Approvals and what came of them; the rest is what others make the service write. */
const isAboutApproval = (kind: NoticeKind): boolean => kind === "approval" || kind === "outcome";

/** Throws PausedByOperator. */
async function whyNotNow(deps: Dependencies, { kind, workspaceId, to }: Notice): Promise<NotSent | undefined> {
  await requireNotPaused(deps);
  if (await isStopped(deps, { workspaceId, address: to }))
    return withheld(deps, {
      kind,
      why: "stopped",
      error: `${to} has stopped mail from this workspace: name another address`,
    });
  if (isAboutApproval(kind) || !(await deps.workspaces.load(workspaceId)).state.sendingPaused) return undefined;
  const error = "sending is paused in this workspace: only requests to approvers and outcomes leave";
  return withheld(deps, { kind, why: "paused", error });
}

/** A place in the measure of its kind, or why there is none. Undefined where mail is not measured. */
async function takePlace(
  deps: Dependencies,
  { kind, workspaceId, to, origin }: Pick<Notice, "kind" | "workspaceId" | "to" | "origin">,
): Promise<Extract<Place, { taken: true }> | NotSent | undefined> {
  const measure = isAboutApproval(kind) ? "approvals" : "notices";
  const mail = { attemptId: origin.attemptId, measure, mailbox: mailboxOf(to), workspaceId } as const;
  const place = await deps.mailMeasure?.take(mail);
  if (!place || place.taken) return place;
  const full = place.fullFor === "mailbox" ? "this address" : "this workspace";
  if (measure === "notices") {
    const error = `too many mails of rules, tests and notices for ${full} within an hour (SERVICE_MAIL_PER_HOUR): it was dropped`;
    return withheld(deps, { kind, why: `${place.fullFor}_full`, error });
  }
  const inMs = Math.max(place.inMs, shortestWaitMs);
  const error = `too many requests to approvers for ${full} within an hour (SERVICE_MAIL_PER_HOUR): it waits until there is room again`;
  return { ...withheld(deps, { kind, why: `${place.fullFor}_full`, error }), again: true, inMs };
}

function withheld(
  deps: Dependencies,
  { kind, why, error }: { kind: NoticeKind; why: Withheld; error: string },
): NotSent {
  deps.countWithheld?.(kind, why);
  return { sent: false, error, again: false };
}

const failed = (error: string): NotSent => ({ sent: false, error, again: true });

type HandedOver = { outcome: NoticeOutcome | PausedByOperator; mayHaveLeft: boolean };

async function handOver(deps: Dependencies, provider: MailProvider, notice: Notice): Promise<HandedOver> {
  const { origin, to, subject, workspaceId } = notice;
  let keptBack: NotSent | PausedByOperator | undefined;
  const mayWrite = async (): Promise<boolean> => {
    keptBack = await whyNotNow(deps, notice).catch((error) =>
      error instanceof PausedByOperator ? error : failed(error.message),
    );
    return keptBack === undefined;
  };
  try {
    const address = deps.settings.approvalsFrom;
    const messageId = deps.messageIds.mint({ ...origin, domain: address.slice(address.lastIndexOf("@") + 1) });
    const stopUrl = `${deps.settings.publicUrl}/stop/${stopToken(deps.keyRing, { workspaceId, address: to })}`;
    const bodies = withFooter(notice, { to, stopUrl });
    const from = { name: "Countersign", address };
    const { mime, envelope } = await renderNotice({ from, to, subject, ...bodies, messageId, date: deps.clock.now() });
    const connection = await provider.connect();
    const outcome = await connection.handOver({ attemptId: origin.attemptId, envelope, messageId, mime }, mayWrite);
    if (keptBack) return { outcome: keptBack, mayHaveLeft: false };
    if (outcome.kind === "accepted") return { outcome: { sent: true }, mayHaveLeft: true };
    return { outcome: failed(outcome.message), mayHaveLeft: outcome.kind === "unknown" };
  } catch (error) {
    return { outcome: failed((error as Error).message), mayHaveLeft: false };
  }
}
