import { Rejected } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { kindOf, type MailKind } from "#streams/inbox/mailKinds.ts";
import { type Field, fieldsOf } from "#streams/rule/content.ts";
import { collectSearches, type Facts } from "#streams/rule/evaluate.ts";
import type { RuleSettings, TriggerEvent } from "#streams/rule/events.ts";
import type { KnownFacts, RuleSubject } from "#streams/ruleRun/events.ts";
import type { AnsweredMail, Exchange } from "#streams/ruleRun/grants.ts";
import type { Authentication } from "#streams/thread/events.ts";
import { requiresHuman } from "../approvals/humanApproval.ts";
import { contactOf } from "../contacts.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import { type FiledMail, findAuthentication, textOfMail } from "../threads/answeredMail.ts";
import { loadThread } from "../threads/threads.ts";

/** Subject of a trigger event and the facts that rules may use. */
export type RuleInput = {
  subject: RuleSubject;
  facts: Facts;
  /** The identity's assistant, for the rules of one assistant. */
  assistantId: string | null;
  humanRequired: boolean;
  approvalsRequired: number;
  /** The message's author, the proof of that author, and the recipients of a reply. */
  exchange: Exchange;
  /** Reads the message's text; null if rules cannot test it (withText). */
  text: (() => Promise<string | null>) | null;
};

/** A message as rules test it. `from`: null if the message names no sender. `authentication`: null if no result is known. */
export type TestedMessage = {
  workspaceId: string;
  identityId: string;
  threadId: string;
  messageId: string;
  classification: string | null;
  kind: MailKind | null;
  from: string | null;
  to: readonly string[];
  cc: readonly string[];
  replyTo: readonly string[];
  subject: string;
  authentication: Authentication | null;
  /** Returns the complete text part, not the one shortened for display. */
  text(): Promise<string | null>;
};

/** Completes a mail with its authentication result, from the streams alone. */
export async function toTestedMessage(deps: Dependencies, mail: FiledMail): Promise<TestedMessage> {
  const { said } = await findAuthentication(deps, mail);
  const authentication = said?.data.authentication ?? null;
  return {
    ...mail,
    kind: kindOf(mail),
    from: mail.from?.address || null,
    authentication,
    text: () => textOfMail(deps, mail),
  };
}

/** Returns true if the sender is proven: DMARC passed with alignment. */
const isProof = (authentication: Authentication | null): boolean =>
  authentication?.aligned === true && authentication.dmarc === "pass";

/**
 * Converts a message to the form that grants are judged by. A message of a mailing list proves no sender, even if its authentication
 * passed.
 */
function answeredMail({ authentication, classification, kind, from, to, cc, replyTo }: TestedMessage): AnsweredMail {
  const proven = isProof(authentication) ? "proven" : "unproven";
  const proof = classification === "list" ? "list" : proven;
  return { kind, proof, from, to, cc, replyTo, covers: authentication?.covers ?? [] };
}

export async function messageInput(deps: Dependencies, message: TestedMessage): Promise<RuleInput> {
  const { workspaceId, messageId, identityId, threadId, from: contactEmail } = message;
  const subject = { identityId, threadId, messageId, draftId: null, draftVersion: null, contactEmail };
  const exchange = { mail: answeredMail(message), recipients: null };
  const known = { "message.from_email": contactEmail, "message.subject": message.subject };
  return about(deps, { trigger: "email.received", workspaceId, subject, exchange, text: message.text }, known);
}

const inText = "message.body_text";

/**
 * Adds the results of these rules' tests of the message's text. The text is read only if a rule tests it. A long text is searched in a
 * worker thread; results later than one second count as unknown (streams/ruleRun/plan.ts).
 */
export async function withText(
  deps: Pick<Dependencies, "costlyWork">,
  workspaceId: string,
  { about, rules }: { about: RuleInput; rules: readonly Pick<RuleSettings, "conditions">[] },
): Promise<RuleInput> {
  const conditions = rules.map((rule) => rule.conditions);
  const questions = collectSearches(inText, conditions);
  const text = questions.size === 0 || about.text === null ? null : await about.text();
  if (text === null) return about;
  const answers = await deps.costlyWork("searchText", { text, questions }, workspaceId);
  return { ...about, facts: new Map([...about.facts, [inText, answers]]) };
}

type DraftInQuestion = {
  trigger: TriggerEvent;
  draftId: string;
  draft: Pick<Draft, "workspaceId" | "identityId" | "threadId" | "basedOnMessageId" | "version" | "stored">;
  /** The message that the draft answers; null if it answers none. */
  message: TestedMessage | null;
};

/**
 * Describes a draft for its rules. Its contact is the author of the answered message, or the draft's first recipient if it answers none.
 */
export async function draftInput(
  deps: Dependencies,
  { trigger, draftId, draft, message }: DraftInQuestion,
): Promise<RuleInput> {
  const { workspaceId, identityId, threadId, basedOnMessageId: messageId } = draft;
  const content = await loadContent(deps.blobs, draft.stored);
  const contactEmail = (message ? message.from : content.to[0]) || null;
  const subject = { identityId, threadId, messageId, draftId, draftVersion: draft.version, contactEmail };
  const { to, cc, bcc } = content;
  const exchange = { mail: message ? answeredMail(message) : null, recipients: { to, cc, bcc } };
  const known = { "message.subject": content.subject, "message.to_emails": content.to };
  return about(deps, { trigger, workspaceId, subject, exchange, text: null }, known);
}

type FactsQuery = {
  trigger: TriggerEvent;
  workspaceId: string;
  subject: RuleSubject;
  exchange: Omit<Exchange, "coveredRecipients">;
  text: RuleInput["text"];
};
type KnownValues = Partial<Record<Field, string | readonly string[] | null>>;

async function about(
  deps: Dependencies,
  { trigger, workspaceId, subject, exchange, text }: FactsQuery,
  ofMessage: KnownValues,
): Promise<RuleInput> {
  const { state: identity } = await deps.identities.load(subject.identityId);
  const { state: thread, threadId } = await loadThread(deps, subject.threadId);
  if (!thread.exists) throw new Rejected("not_found", "no such thread");
  const { contactEmail } = subject;
  const contact = contactEmail === null ? undefined : await contactOf(deps, workspaceId, contactEmail);
  const known: KnownValues = {
    ...ofMessage,
    "thread.subject": thread.subject,
    "thread.status": thread.status,
    "contact.status": contact?.status,
    "contact.tag": contact?.tags,
    "contact.domain": contact?.domain,
    "identity.id": subject.identityId,
  };
  return {
    subject: { ...subject, threadId },
    facts: factsOf(trigger, known),
    assistantId: identity.assistantId,
    humanRequired: await requiresHuman(deps, identity),
    approvalsRequired: identity.approvalsRequired,
    exchange: { ...exchange, coveredRecipients: identity.coveredRecipients },
    text,
  };
}

function factsOf(trigger: TriggerEvent, known: KnownValues): Facts {
  const facts = new Map<Field, readonly string[]>();
  for (const field of fieldsOf[trigger]) {
    const value = known[field];
    if (value === null || value === undefined) continue;
    facts.set(field, typeof value === "string" ? [value] : value);
  }
  return facts;
}

/** Returns the facts that are stored with a run. The message's text is not stored, because it can be read again and never changes. */
export const factsToStore = (facts: Facts): KnownFacts =>
  Object.fromEntries([...facts].filter((fact): fact is [Field, readonly string[]] => fact[0] !== inText));

/**
 * Returns the facts of an earlier evaluation, with the contact as it is now. `kept`: undefined if there was none; then all facts are
 * current.
 */
export function restoreFacts(now: Facts, kept: KnownFacts | undefined): Facts {
  if (kept === undefined) return now;
  const isOfNow = (field: string) => field.startsWith("contact.") || field === inText;
  const of = ([field]: [string, unknown]) => isOfNow(field);
  const then = Object.entries(kept).filter((entry) => !of(entry)) as [Field, readonly string[]][];
  return new Map([...then, ...[...now].filter(of)]);
}
