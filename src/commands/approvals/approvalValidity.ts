import type { Draft } from "#streams/draft/draft.ts";
import { draftStream } from "#streams/draft/events.ts";
import { approversOf, keysVoter, losesQuorumWithout } from "#streams/draft/quorum.ts";
import { triggersRules } from "#streams/inbox/mailKinds.ts";
import {
  type ApprovalDecision,
  decideApproval,
  grantedIn,
  type Source,
  stillGranted,
} from "#streams/ruleRun/approval.ts";
import { approvalModeOf, type RuleRun } from "#streams/ruleRun/decider.ts";
import { type Exchange, isGrant, type RuleWalk } from "#streams/ruleRun/grants.ts";
import type { WalkedRule } from "#streams/ruleRun/plan.ts";
import type { Dependencies } from "../dependencies.ts";
import { derivedId } from "../ids.ts";
import {
  draftInput,
  messageInput,
  restoreFacts,
  type TestedMessage,
  toTestedMessage,
  withText,
} from "../rules/ruleFacts.ts";
import { receivedRunId, rulesInScope } from "../rules/ruleRuns.ts";
import { type WorkingRule, workingRules } from "../rules/workingRules.ts";
import { type FiledMail, MailNotFound, mailAnsweredBy, wasFiledByHand } from "../threads/answeredMail.ts";
import { requiresHuman } from "./humanApproval.ts";
import { lapsedVoters } from "./voters.ts";

/** Runs of the rules about a message (`received`), and of the rules about the draft that answers it (`created`). */
type RuleRunsOfDraft = { received: RuleRun | null; created: RuleRun };

export const createdRunId = (submittedEventId: string): string => derivedId("rules", "draft.created", submittedEventId);

/** Why an API key's approval alone is not valid. */
const wantsPerson = "a person's approval is now required, and no person has approved this version";

/** Why a signed-in person's approval is not valid. */
const notAllowed = "the person who approved it may no longer approve in this workspace";

/** Why the approval of a draft is no longer valid. `lapsed`: the signed-in voters who may not decide any more. */
export type ApprovalInvalidity = { because: string; lapsed?: readonly string[] };

/**
 * Returns why a draft's approval is no longer valid; null if it is valid. An approval by a rule or a setting is valid while that rule or
 * setting still grants it; one by an API key, while no person is required; one by a signed-in person, while their role and account allow
 * it. An approval by a link or in a chat stays valid. Called at every claim and right before a hand-over. Reads streams only, so that a
 * wrong or lagging read model cannot change what is sent.
 */
export async function whyApprovalInvalid(
  deps: Dependencies,
  draftId: string,
  draft: Draft,
): Promise<ApprovalInvalidity | null> {
  const { approval } = draft;
  if (approval === null) return null;
  if (approval.by === "key" && (await isPersonRequired(deps, draft))) return { because: wantsPerson };
  if (approval.by === "key" || approval.by === "person") return whyPersonsApprovalInvalid(deps, draft);
  const asked = { draftId, draft, submittedBySwitch: approval.by === "switch" };
  const judged = await reevaluateRules(deps, asked).catch(unknown);
  if (typeof judged === "string") return { because: judged };
  const { decision, runs } = judged;
  if (stillGranted(decision, grantedThen(draftId, draft, runs))) return null;
  return { because: decision.manual?.reason ?? "the rule or setting that approved it automatically no longer does" };
}

/**
 * Returns why the approval of signed-in people is no longer valid; null if it is valid, or if no signed-in person gave it. While a person
 * is required, approvals by API keys do not replace a lapsed approval of a person.
 */
export async function whyPersonsApprovalInvalid(deps: Dependencies, draft: Draft): Promise<ApprovalInvalidity | null> {
  const approvers = approversOf(draft);
  const lapsed = await lapsedVoters(deps, draft.workspaceId, approvers);
  if (approvers.includes(keysVoter) && (await isPersonRequired(deps, draft))) lapsed.push(keysVoter);
  return losesQuorumWithout(draft, lapsed) ? { because: notAllowed, lapsed } : null;
}

async function isPersonRequired(deps: Dependencies, { identityId }: Draft): Promise<boolean> {
  return requiresHuman(deps, (await deps.identities.load(identityId)).state);
}

/** Returns a reason if the error says that the answered message was not found. Throws any other error. */
function unknown(error: unknown): string {
  if (error instanceof MailNotFound) return error.message;
  throw error;
}

/**
 * Decides about a draft again: with the present rules, settings and contact, and the facts stored by its earlier evaluations. Throws
 * MailNotFound.
 */
export async function reevaluateRules(
  deps: Dependencies,
  { draftId, draft, submittedBySwitch }: { draftId: string; draft: Draft; submittedBySwitch: boolean },
): Promise<{ decision: ApprovalDecision; runs: RuleRunsOfDraft }> {
  const { workspaceId, identityId } = draft;
  const [runs, { state: identity }] = await Promise.all([
    runsOf(deps, draftId, draft),
    deps.identities.load(identityId),
  ]);
  const rules = await workingRules(deps, workspaceId);
  const [created, received] = [rules("draft.created"), rules("email.received")];
  const humanRequired = await requiresHuman(deps, identity);
  const { approvalsRequired } = identity;
  const switchOn = submittedBySwitch && identity.autoApproveReplies && !(await answersFiledByHand(deps, draft));
  if (created.length === 0 && received.length === 0) {
    return { decision: decideApproval({ ...nothingSaid, humanRequired, approvalsRequired, switchOn }), runs };
  }
  const mail = await mailAnsweredBy(deps, draft);
  const message = mail && (await toTestedMessage(deps, mail));
  const about = await draftInput(deps, { trigger: "draft.created", draftId, draft, message });
  const decision = decideApproval({
    received: await walkOfMessage(deps, { draftId, mail, message, rules: received, received: runs.received }),
    created: { rules: rulesInScope(created, about), facts: restoreFacts(about.facts, runs.created.evaluated?.facts) },
    exchange: about.exchange,
    humanRequired,
    approvalsRequired,
    switchOn,
  });
  return { decision, runs };
}

/** A message may be filed by hand after the draft that answers it was approved automatically. */
const answersFiledByHand = async (deps: Dependencies, { threadId, basedOnMessageId: messageId }: Draft) =>
  messageId !== null && (await wasFiledByHand(deps, { threadId, messageId }));

const noWalk: RuleWalk<WalkedRule> = { rules: [], facts: new Map() };
const noExchange: Exchange = { mail: null, recipients: null, coveredRecipients: [] };
const nothingSaid = { received: noWalk, created: noWalk, exchange: noExchange };

async function runsOf(deps: Dependencies, draftId: string, { basedOnMessageId }: Draft): Promise<RuleRunsOfDraft> {
  const [submitted] = await deps.store.read(draftStream(draftId), 0, 1);
  const run = async (id: string) => (await deps.ruleRuns.load(id)).state;
  const received = basedOnMessageId === null ? null : await run(receivedRunId(basedOnMessageId));
  return { received, created: await run(createdRunId(submitted?.id ?? draftId)) };
}

/** Evaluates the message's rules and returns what they grant to a draft that answers the message. */
export async function walkRulesOfMessage(
  deps: Dependencies,
  draftId: string,
  draft: Draft,
): Promise<RuleWalk<WalkedRule>> {
  const [{ received }, working, mail] = await Promise.all([
    runsOf(deps, draftId, draft),
    workingRules(deps, draft.workspaceId),
    mailAnsweredBy(deps, draft),
  ]);
  const rules = working("email.received");
  const message = mail && rules.length > 0 ? await toTestedMessage(deps, mail) : null;
  return walkOfMessage(deps, { draftId, mail, message, rules, received });
}

/**
 * Returns true if the grants of a message's rules apply to this draft: they apply only to the next draft that answers the message. A
 * `manual` action applies to every such draft.
 */
const grantsToDraft = (received: RuleRun | null, draftId: string): boolean =>
  received !== null && (received.modeUsedBy === null || received.modeUsedBy === draftId);

const withoutGrants = (rule: WalkedRule): WalkedRule => ({
  ...rule,
  actions: rule.actions.filter((action) => !isGrant(action)),
});

/**
 * Evaluates `rules` on the mail that a draft answers, if it answers one. `message`: the mail as rules see it. `received`: the rule run made
 * when the mail arrived.
 */
async function walkOfMessage(
  deps: Dependencies,
  {
    draftId,
    mail,
    message,
    rules,
    received,
  }: {
    draftId: string;
    mail: FiledMail | null;
    message: TestedMessage | null;
    rules: readonly WorkingRule[];
    received: RuleRun | null;
  },
): Promise<RuleWalk<WalkedRule>> {
  if (mail === null || message === null || rules.length === 0) return noWalk;
  // Rules do not run for automatic mail or for mail of a blocked contact.
  if (!triggersRules({ ...mail, fromBlocked: mail.fromBlockedContact === true })) return noWalk;
  const asked = await messageInput(deps, message);
  const walked = rulesInScope(rules, asked);
  const about = await withText(deps, message.workspaceId, { about: asked, rules: walked });
  return {
    rules: grantsToDraft(received, draftId) ? walked : walked.map(withoutGrants),
    facts: restoreFacts(about.facts, received?.evaluated?.facts),
  };
}

/** Returns the rules and settings that granted the draft's approval at the time of the approval. */
function grantedThen(draftId: string, draft: Draft, { received, created }: RuleRunsOfDraft): Source[] {
  const ofMessage = received?.modeUsedBy === draftId ? received : null;
  const askedForPerson = received !== null && approvalModeOf(received)?.mode === "manual";
  const rules = [
    ...(ofMessage !== null && !ofMessage.modeSuppressed ? grantedIn(ofMessage.evaluated?.results ?? []) : []),
    ...grantedIn(created.evaluated?.results ?? []),
  ];
  const bySwitch = draft.approval?.by === "switch" && !askedForPerson;
  return [
    ...(bySwitch ? [{ kind: "switch" } as const] : []),
    ...rules.map((ruleId) => ({ kind: "rule", ruleId }) as const),
  ];
}
