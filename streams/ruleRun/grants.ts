import { type MailKind, mailEffects } from "../inbox/mailKinds.ts";
import { isChangeableField, isForgeableField, isStrangersText } from "../rule/content.ts";
import { concernsField, type Facts, hasUnansweredSearch } from "../rule/evaluate.ts";
import type { RuleAction, RuleSettings } from "../rule/events.ts";
import { isUncertain, possibleTurns, type RuleTurn, uncertainFields } from "./uncertainty.ts";

/**
 * Basis of a rule's grant. `needsProof`: on who the sender is, or on values anyone can change. `fromAlone`: on text that a stranger wrote.
 * Neither: it is the operator's decision for every recipient. `unanswered`: some rule of these walks needs a search of the text that ran
 * out of time.
 */
export type Basis = { needsProof: boolean; fromAlone: boolean; unanswered: boolean };

/** Address fields of a mail that its sender's signature may cover. */
export const coverable = ["to", "cc", "reply_to"] as const;
export type Covered = (typeof coverable)[number];

/** The message a draft is based on, as far as grants need it. Addresses as in the message. */
export type AnsweredMail = {
  /** Whose mail it is; null if it is not known. */
  kind: MailKind | null;
  /** `list`: a mailing list forwarded it, which proves no sender. */
  proof: "proven" | "unproven" | "list";
  from: string | null;
  to: readonly string[];
  cc: readonly string[];
  replyTo: readonly string[];
  /** Fields that the proof covers besides From. */
  covers: readonly Covered[];
};

/** The exchange that would be answered without a person. */
export type Exchange = {
  /** The answered message; null if the draft answers none. */
  mail: AnsweredMail | null;
  /** The draft's recipients; null before there is a draft. */
  recipients: { to: readonly string[]; cc: readonly string[]; bcc: readonly string[] } | null;
  /** The identity's own list of recipients that a proof need not cover. */
  coveredRecipients: readonly string[];
};

/** A walk of rules, with the facts at its start. */
export type RuleWalk<Rule> = { rules: readonly Rule[]; facts: Facts };
type RuleInWalk = Pick<RuleSettings, "conditions" | "actions" | "stopAfterMatch">;

const needingProof = (field: string): boolean => isForgeableField(field) || isChangeableField(field);

/**
 * Returns the basis of each rule's grant, walk by walk. More than its own conditions count: an earlier rule might have ended the walk, and
 * a later one, in a later walk too, might have required a person.
 */
export function grantBases(walks: readonly RuleWalk<RuleInWalk>[], proven: boolean): Basis[][] {
  // Without proof the sender is unknown: results that depend on the text must not count as certain because of a claimed sender.
  const written = proven ? isStrangersText : (field: string) => isStrangersText(field) || needingProof(field);
  const onProof = hangs(walks, needingProof);
  const onText = hangs(walks, written);
  const unanswered = walks.some(({ rules, facts }) =>
    rules.some(({ conditions }) => hasUnansweredSearch(conditions, facts)),
  );
  return walks.map(({ rules }, walk) =>
    rules.map(({ conditions }, index) => ({
      needsProof: concernsField(conditions, needingProof) || onProof[walk]?.[index] === true,
      fromAlone: concernsField(conditions, isStrangersText) || onText[walk]?.[index] === true,
      unanswered,
    })),
  );
}

function hangs(walks: readonly RuleWalk<RuleInWalk>[], isUnsure: (field: string) => boolean): boolean[][] {
  const turns = turnsOfAll(walks, isUnsure);
  let mayBeTakenBack = false;
  const fromTheEnd = walks.toReversed().map(({ rules }, fromEnd) => {
    const own = turns[walks.length - 1 - fromEnd] as RuleTurn[];
    return rules
      .map((rule, index) => ({ rule, turn: own[index] as RuleTurn }))
      .toReversed()
      .map(({ rule, turn }) => {
        const hanging = !turn.surely || mayBeTakenBack;
        if (isUncertain(turn) && rule.actions.some(isManual)) mayBeTakenBack = true;
        return hanging;
      })
      .toReversed();
  });
  return fromTheEnd.toReversed();
}

/**
 * Returns the turns of all walks. The thread's status and the contact's tags that an earlier walk may have changed are unsure in later
 * ones.
 */
function turnsOfAll(walks: readonly RuleWalk<RuleInWalk>[], isUnsure: (field: string) => boolean): RuleTurn[][] {
  let unsure = isUnsure;
  return walks.map(({ rules, facts }) => {
    const before = unsure;
    const turns = possibleTurns(rules, facts, before);
    const moved = uncertainFields(rules, turns);
    unsure = (field) => before(field) || moved(field);
    return turns;
  });
}

/** Returns why a grant does not hold, beginning with a code; null if it does. Before there is a draft only the proof is checked. */
export function whyGrantFails({ needsProof, fromAlone, unanswered }: Basis, exchange: Exchange): string | null {
  if (unanswered) return notEvaluated;
  const { mail, recipients } = exchange;
  if (!mayAnswerBeGranted(mail)) return ungrantable;
  if (needsProof && mail?.proof !== "proven") return unproven(mail);
  if (recipients === null) return null;
  const everybody = [...recipients.to, ...recipients.cc, ...recipients.bcc];
  if (needsProof) {
    const covered = folded([...coveredBy(mail as AnsweredMail), ...exchange.coveredRecipients]);
    const stranger = everybody.find((address) => !covered.has(address.toLowerCase()));
    if (stranger !== undefined) return notCovered(`the message's sender proof does not cover ${stranger}`);
  }
  if (!fromAlone) return null;
  if (mail === null) return notCovered("the draft does not reply to a message");
  const from = folded(mail.from === null ? [] : [mail.from]);
  const other = recipients.to.find((address) => !from.has(address.toLowerCase()));
  if (other !== undefined) {
    return notCovered(
      `a condition on what the sender wrote can only approve a reply to the message's From, not to ${other}`,
    );
  }
  const took = folded([...from, ...mail.to, ...mail.cc]);
  const added = [...recipients.cc, ...recipients.bcc].find((address) => !took.has(address.toLowerCase()));
  if (added === undefined) return null;
  return notCovered(
    `a condition on what the sender wrote cannot approve a reply to ${added}, who neither sent nor received the message`,
  );
}

/** True unless the draft answers mail whose answers only a person or a key approves: a program's, an altered copy, or filed by hand. */
export const mayAnswerBeGranted = (mail: Pick<AnsweredMail, "kind"> | null): boolean =>
  mail === null || mail.kind === null || mailEffects[mail.kind].mayBeGranted;

const ungrantable =
  "person_required: a program wrote the message, or it was not certain whose it is, so no rule and no setting approves its answer";

/** Stored reason of a rule that does nothing, and an evaluation that grants nothing, because its conditions on the text took too long. */
export const notEvaluated = "not_evaluated: searching the message's text for the rules' conditions took too long";

const unprovenSender = "unproven_sender";
const notCovered = (sentence: string): string => `recipient_not_covered: ${sentence}`;

function unproven(mail: AnsweredMail | null): string {
  if (mail === null) return `${unprovenSender}: the draft does not reply to a message`;
  return mail.proof === "list"
    ? `${unprovenSender}: the message came through a mailing list`
    : `${unprovenSender}: the message did not pass DMARC with alignment`;
}

/** Returns the addresses that a mail's proof covers. */
const coveredBy = ({ from, to, cc, replyTo, covers }: AnsweredMail): string[] => [
  ...(from === null ? [] : [from]),
  ...(covers.includes("to") ? to : []),
  ...(covers.includes("cc") ? cc : []),
  ...(covers.includes("reply_to") ? replyTo : []),
];

const folded = (addresses: readonly string[]): Set<string> => new Set(addresses.map((each) => each.toLowerCase()));

/** True for an action that approves a draft without a person. */
export const isGrant = (action: RuleAction): boolean =>
  action.type === "skip_approval" || (action.type === "set_approval_mode" && action.mode === "auto");

export const isManual = (action: RuleAction): boolean =>
  action.type === "set_approval_mode" && action.mode === "manual";

/** Returns warnings for POST and PATCH of a rule: a grant that depends on a stranger's own words. */
export const warningsOf = ({ conditions, actions }: Pick<RuleSettings, "conditions" | "actions">): string[] =>
  actions.some(isGrant) && concernsField(conditions, isStrangersText)
    ? ["any sender who writes this is answered without a person's approval"]
    : [];
