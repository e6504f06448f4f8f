import { draftById } from "#projections/drafts/queries.ts";
import { type MessageRow, messageById } from "#projections/messages/queries.ts";
import { type PastTrigger, pastTriggers } from "#projections/rules/queries.ts";
import { Rejected } from "#streams/decider.ts";
import { recipientsOfReply } from "#streams/draft/recipients.ts";
import type { RuleSettings, TriggerEvent } from "#streams/rule/events.ts";
import type { PlannedAction, RuleSubject } from "#streams/ruleRun/events.ts";
import { planRun } from "#streams/ruleRun/plan.ts";
import type { Dependencies } from "../dependencies.ts";
import { textOfMail } from "../threads/answeredMail.ts";
import { draftInput, messageInput, type RuleInput, type TestedMessage, withText } from "./ruleFacts.ts";
import { isInScope } from "./ruleRuns.ts";
import { requireOutsideAddress } from "./ruleSecrets.ts";
import { type GivenRule, requireScope, validateRule } from "./rules.ts";

/** Maximum number of past events that one test reads, starting with the newest. */
export const maxTestedEvents = 200;
/** Milliseconds after which a test reads no further events, because mails may be large and a rule may check much of each. */
const testWithinMs = 5_000;
/** Number of events that are evaluated concurrently. */
const atOnce = 10;

/** Result of a test for one past event: true if the rule matches, and the actions that it would take. */
export type TriedEvent = { at: Date; subject: RuleSubject; matched: boolean; actions: PlannedAction[] };

/**
 * Evaluates a rule on past trigger events, newest first, without acting. The rule need not be stored. Mails and drafts are used as they
 * were then, thread status and contact as they are now. For an invalid rule, throws the same errors as createRule, except for the plan's
 * limit.
 */
export async function tryRule(
  deps: Dependencies,
  { workspaceId, given, since }: { workspaceId: string; given: GivenRule; since: Date | null },
): Promise<{ triggerEvent: TriggerEvent; tried: TriedEvent[] }> {
  const rule = validateRule(given, "rule.");
  await requireOutsideAddress(deps, "rule.actions", rule.actions);
  await requireScope(deps, { workspaceId, scope: rule }, "rule.");
  const past = await pastTriggers(deps.reads, workspaceId, {
    trigger: rule.triggerEvent,
    since,
    limit: maxTestedEvents,
  });
  const tried: TriedEvent[] = [];
  const deadline = deps.clock.monotonic() + testWithinMs;
  for (let first = 0; first < past.length && deps.clock.monotonic() < deadline; first += atOnce) {
    const some = past.slice(first, first + atOnce);
    const all = await Promise.all(some.map((one) => lookUp(deps, { workspaceId, trigger: rule.triggerEvent }, one)));
    for (const [index, asked] of all.entries()) {
      if (!asked || !triggers(rule, asked)) continue;
      if (deps.clock.monotonic() >= deadline) break;
      const { at } = some[index] as PastTrigger;
      const about = await withText(deps, workspaceId, { about: asked, rules: [rule] });
      tried.push({ at, subject: about.subject, ...walk(rule, about) });
    }
  }
  return { triggerEvent: rule.triggerEvent, tried };
}

async function lookUp(
  deps: Dependencies,
  { workspaceId, trigger }: { workspaceId: string; trigger: TriggerEvent },
  { draft_id, message_id }: PastTrigger,
): Promise<RuleInput | undefined> {
  if (draft_id === null) {
    const message = await messageById(deps.reads, workspaceId, message_id as string);
    return message && aboutAnswer(deps, message);
  }
  const row = await draftById(deps.reads, workspaceId, draft_id);
  if (!row) return undefined;
  const draft = {
    workspaceId,
    identityId: row.identity_id,
    threadId: row.thread_id,
    basedOnMessageId: row.based_on_message_id,
    version: row.version,
    stored: { content: row.content, contentBlob: row.content_blob },
  };
  const { based_on_message_id: messageId } = row;
  const message = messageId === null ? undefined : await messageById(deps.reads, workspaceId, messageId);
  return draftInput(deps, { trigger, draftId: draft_id, draft, message: message ? asShown(deps, message) : null });
}

/** Returns a past message from the read model, in the form in which it is shown. That suffices because a test decides nothing. */
function asShown(deps: Dependencies, message: MessageRow): TestedMessage {
  const { workspace_id: workspaceId, identity_id: identityId, thread_id: threadId, id: messageId } = message;
  const { to_emails: to, cc_emails: cc, reply_to: replyTo, body_blob: bodyBlob } = message;
  const { classification, kind, subject, authentication } = message;
  const body = { text: message.body_text, html: null, extracted: "" };
  return {
    ...{ workspaceId, identityId, threadId, messageId, classification, kind, subject, authentication },
    ...{ from: message.from_email || null, to, cc, replyTo, text: () => textOfMail(deps, { body, bodyBlob }) },
  };
}

/**
 * Describes a message together with the recipients of a reply to it, so that the test can report recipients that a grant would not cover.
 */
async function aboutAnswer(deps: Dependencies, message: MessageRow): Promise<RuleInput> {
  const about = await messageInput(deps, asShown(deps, message));
  const { state: identity } = await deps.identities.load(message.identity_id);
  try {
    const recipients = { to: recipientsOfReply(message, identity), cc: [], bcc: [] };
    return { ...about, exchange: { ...about.exchange, recipients } };
  } catch (error) {
    // The message has no address to reply to, so judge only what proves its author.
    if (error instanceof Rejected) return about;
    throw error;
  }
}

/**
 * Returns true if the rule applies to the subject. No rule applies to mail of a blocked contact, and a rule of one identity or assistant
 * applies only to that one.
 */
function triggers(rule: RuleSettings, { subject, facts, assistantId }: RuleInput): boolean {
  if (rule.triggerEvent === "email.received" && String(facts.get("contact.status")) === "blocked") return false;
  return isInScope(rule, subject.identityId, assistantId);
}

function walk(
  rule: RuleSettings,
  { facts, humanRequired, approvalsRequired, exchange }: RuleInput,
): { matched: boolean; actions: PlannedAction[] } {
  const circumstances = {
    ...{ trigger: rule.triggerEvent, facts, exchange, humanRequired, approvalsRequired },
    ...{ ranBefore: new Set<string>(), chainEnded: false },
  };
  const [result] = planRun([{ ...rule, id: "", version: 0 }], circumstances);
  return { matched: result?.matched ?? false, actions: result?.actions ?? [] };
}
