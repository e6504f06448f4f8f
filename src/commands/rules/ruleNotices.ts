import type { Channels } from "#src/channels/channel.ts";
import { unlinked } from "#src/channels/email/excerpt.ts";
import { renderNoticeMail } from "#src/channels/email/noticeMail.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { RuleAction } from "#streams/rule/events.ts";
import type { RuleRun } from "#streams/ruleRun/decider.ts";
import type { ActionOutcome, RuleResult } from "#streams/ruleRun/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { derivedId } from "../ids.ts";
import { postNotice } from "../serviceMail/postNotice.ts";
import { type NoticeOutcome, sendNotice } from "../serviceMail/sendNotice.ts";
import { loadThread } from "../threads/threads.ts";
import { openedNotify } from "./ruleSecrets.ts";

/** Mail provider and chat channels through which people are notified. */
export type Outlets = { provider: MailProvider; channels: Channels };

type RuleNotice = {
  outlets: Outlets;
  runId: string;
  rule: RuleResult;
  index: number;
  evaluated: NonNullable<RuleRun["evaluated"]>;
  action: Extract<RuleAction, { type: "notify_channel" }>;
};

/**
 * Notifies people through the action's channel that a rule matched. If a crash prevents that from being recorded, a chat may get the notice
 * twice.
 */
export async function notifyByRule(
  deps: Dependencies,
  notice: RuleNotice,
): Promise<{ outcome: ActionOutcome; reason: string | null }> {
  const outcome = await (notice.action.channel === "email" ? mailed(deps, notice) : posted(deps, notice));
  if (outcome.sent) return { outcome: "done", reason: null };
  return { outcome: outcome.again ? "failed" : "refused", reason: outcome.error };
}

const attemptOf = ({ runId, rule, index }: RuleNotice): string =>
  derivedId("rule-notice", runId, rule.ruleId, String(index));

async function mailed(deps: Dependencies, notice: RuleNotice): Promise<NoticeOutcome> {
  const { outlets, rule, evaluated, action } = notice;
  const { provider } = outlets;
  const { identityId, threadId } = evaluated.subject;
  const attemptId = attemptOf(notice);
  const to = action.config.to as string;
  // The mail may have been sent right before a crash. A provider that is itself the mailbox knows the outcome immediately; other providers'
  // logs lag behind.
  const attempt = { attemptId, recipients: [to], since: new Date(0) };
  if (provider.isMailbox && (await provider.lookUp?.(attempt)) === "accepted") return { sent: true };
  const lines = await linesAbout(deps, { rule, evaluated, quoted });
  const subject = "A rule of your workspace matched";
  const { draftId } = evaluated.subject;
  const [label, path] =
    draftId === null ? ["Open the conversation", `threads/${threadId}`] : ["Open the draft", `drafts/${draftId}`];
  const button = { label, url: `${deps.settings.publicUrl}/${path}` };
  const mail = { subject, ...renderNoticeMail({ subject, paragraphs: [lines.join("\n")], button }) };
  const { workspaceId } = evaluated;
  const origin = { identityId, threadId, attemptId };
  return sendNotice(deps, provider, { kind: "rule", workspaceId, origin, to, ...mail });
}

async function posted(deps: Dependencies, notice: RuleNotice): Promise<NoticeOutcome> {
  const { outlets, rule, evaluated, action } = notice;
  const { workspaceId } = evaluated;
  const { threadId, draftId } = evaluated.subject;
  const ids = [`Thread: ${threadId}`, ...(draftId === null ? [] : [`Draft: ${draftId}`])];
  const lines = [...(await linesAbout(deps, { rule, evaluated, quoted: marked })), ...ids];
  const channel = openedNotify(deps, workspaceId, action);
  return postNotice(deps, outlets.channels, {
    kind: "rule",
    workspaceId,
    attemptId: attemptOf(notice),
    channel,
    lines,
  });
}

type NoticeContent = Pick<RuleNotice, "rule" | "evaluated"> & { quoted(words: string, max: number): string };

/** Lines of the notice. Text by others (rule name, subject, address) is quoted after a label. */
async function linesAbout(deps: Dependencies, { rule, evaluated, quoted }: NoticeContent): Promise<string[]> {
  const { triggerEvent, subject } = evaluated;
  const { state: thread } = await loadThread(deps, subject.threadId);
  return [
    `A rule of your workspace matched the event ${triggerEvent}.`,
    `Name of the rule: ${quoted(rule.ruleName, 100)}`,
    `Subject of the thread: ${quoted(thread.subject, 200)}`,
    ...(subject.contactEmail === null ? [] : [`Contact: ${quoted(subject.contactEmail, 254)}`]),
  ];
}

/** Quotes text by others: on one line, shortened, without invisible characters. */
const marked = (words: string, max: number): string => `“${shortLine(words, max)}”`;

/** Quotes text for a mail, without anything that a mail program would turn into a link. Chats prevent links themselves. */
const quoted = (words: string, max: number): string => unlinked(marked(words, max));
