import { unlinked } from "#src/channels/email/excerpt.ts";
import { html } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { RuleAction } from "#streams/rule/events.ts";
import type { RuleRun } from "#streams/ruleRun/decider.ts";
import type { ActionOutcome, RuleResult } from "#streams/ruleRun/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { derivedId } from "../ids.ts";
import { sendNotice } from "../serviceMail/sendNotice.ts";
import { loadThread } from "../threads/threads.ts";

type RuleNotice = {
  provider: MailProvider;
  runId: string;
  rule: RuleResult;
  index: number;
  evaluated: NonNullable<RuleRun["evaluated"]>;
  action: Extract<RuleAction, { type: "notify_channel" }>;
};

/** Tells somebody, through the channel that the action names, that a rule matched. */
export async function notifyByRule(
  deps: Dependencies,
  { provider, runId, rule, index, evaluated, action }: RuleNotice,
): Promise<{ outcome: ActionOutcome; reason: string | null }> {
  const { channel, config } = action;
  if (channel !== "email") {
    return { outcome: "refused", reason: `this service cannot reach ${channel} channels yet` };
  }
  const { identityId, threadId } = evaluated.subject;
  const attemptId = derivedId("rule-notice", runId, rule.ruleId, String(index));
  const to = config.to as string;
  // It may have left right before this process ended. A mailbox knows at once; the log of another provider lags behind.
  const attempt = { attemptId, recipients: [to], since: new Date(0) };
  if (provider.isMailbox && (await provider.lookUp?.(attempt)) === "accepted") return { outcome: "done", reason: null };
  const notice = { to, ...(await letter(deps, rule, evaluated)) };
  const { workspaceId } = evaluated;
  const origin = { identityId, threadId, attemptId };
  const outcome = await sendNotice(deps, provider, { kind: "rule", workspaceId, origin, ...notice });
  if (outcome.sent) return { outcome: "done", reason: null };
  return { outcome: outcome.again ? "failed" : "refused", reason: outcome.error };
}

/**
 * The subject is ours alone, and whatever somebody else wrote (the rule's author, a stranger's subject and address) stands between quotation marks
 * after the name of what it is, and is no link.
 */
async function letter(
  deps: Dependencies,
  { ruleName }: RuleResult,
  { triggerEvent, subject }: RuleNotice["evaluated"],
): Promise<{ subject: string; text: string; html: string }> {
  const { state: thread } = await loadThread(deps, subject.threadId);
  const lines = [
    `A rule of your workspace matched the event ${triggerEvent}.`,
    `Name of the rule: ${quoted(ruleName, 100)}`,
    `Subject of the thread: ${quoted(thread.subject, 200)}`,
    `Thread: ${subject.threadId}`,
    ...(subject.contactEmail === null ? [] : [`Contact: ${quoted(subject.contactEmail, 254)}`]),
    ...(subject.draftId === null ? [] : [`Draft: ${subject.draftId}`]),
  ];
  return {
    subject: "A rule of your workspace matched",
    text: lines.join("\n"),
    html: lines.map((line) => html`<p>${line}</p>`.toString()).join(""),
  };
}

/** Somebody else's words: one line, cut, with nothing that a mail program makes a link of. */
const quoted = (words: string, max: number): string => `“${unlinked(shortLine(words, max))}”`;
