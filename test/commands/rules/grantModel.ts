import type { Group, Leaf, RuleAction } from "#streams/rule/events.ts";

/**
 * A model that decides which drafts are sent without a person by trying all cases: every unsure condition is assumed met and not met, in
 * every combination, and the rules are evaluated each time. It shares only the shape of a rule with the service.
 */
export type ModelRule = {
  id: string;
  conditions: Group;
  actions: RuleAction[];
  stopAfterMatch: boolean;
  identityId: string | null;
  assistantId: string | null;
};
export type ModelWalk = { rules: ModelRule[]; facts: Record<string, string[]> };
export type ModelWorld = {
  received: ModelWalk;
  created: ModelWalk;
  mail: {
    kind: "forged" | "proven" | "list";
    whose: "customer" | "program";
    from: string;
    to: string[];
    cc: string[];
    replyTo: string[];
    covers: ("to" | "cc" | "reply_to")[];
  } | null;
  recipients: { to: string[]; cc: string[]; bcc: string[] };
  coveredRecipients: string[];
  identityId: string;
  assistantId: string | null;
  humanRequired: boolean;
  switchOn: boolean;
};

const who = new Set(["contact.status", "contact.tag", "contact.domain", "message.from_email"]);
const movable = new Set(["thread.status"]);
const written = new Set(["message.subject", "message.body_text", "thread.subject"]);
const union = (...sets: ReadonlySet<string>[]): Set<string> => new Set(sets.flatMap((set) => [...set]));

type Word = { rule: ModelRule; action: number; says: "grant" | "manual" };
/** Maps each unsure condition to true if it is assumed met. */
type Guess = ReadonlyMap<Leaf, boolean>;

const isLeaf = (item: Group | Leaf): item is Leaf => "field" in item;
const leavesOf = (item: Group | Leaf): Leaf[] => (isLeaf(item) ? [item] : (item.conditions ?? []).flatMap(leavesOf));

function isMet(leaf: Leaf, facts: Record<string, string[]>): boolean {
  const values = [leaf.value].flat();
  const known = facts[leaf.field] ?? [];
  const compare: Record<string, (fact: string, value: string) => boolean> = {
    equals: (fact, value) => fact === value,
    contains: (fact, value) => fact.includes(value),
    starts_with: (fact, value) => fact.startsWith(value),
    in: (fact, value) => fact === value,
  };
  const op = leaf.op.replace("not_", "");
  const found = known.some((fact) => values.some((value) => compare[op]?.(fact, value)));
  return leaf.op.startsWith("not_") ? !found : found;
}

function matches(item: Group | Leaf, facts: Record<string, string[]>, guess: Guess): boolean {
  if (isLeaf(item)) return guess.get(item) ?? isMet(item, facts);
  const items = item.conditions ?? [];
  if (items.length === 0) return true;
  const results = items.map((inner) => matches(inner, facts, guess));
  return item.operator === "OR" ? results.includes(true) : !results.includes(false);
}

/** Result of an evaluation: the decisions about the approval, the thread's final status, and the rules that matched. */
type Walked = { words: Word[]; status: string; ran: ReadonlySet<ModelRule> };

/** Evaluates the rules once, with the unsure conditions as guessed. */
function walk({ rules, facts }: ModelWalk, trigger: string, guess: Guess): Walked {
  const now: Record<string, string[]> = { ...facts };
  const words: Word[] = [];
  const ran = new Set<ModelRule>();
  for (const rule of rules) {
    if (!matches(rule.conditions, now, guess)) continue;
    ran.add(rule);
    for (const [action, asked] of rule.actions.entries()) {
      if (asked.type === "set_thread_status") now["thread.status"] = [asked.status];
      if (asked.type === "add_tag" && now["contact.domain"]) {
        now["contact.tag"] = [...(now["contact.tag"] ?? []), asked.tag];
      }
      if (asked.type === "skip_approval" && trigger === "draft.created") words.push({ rule, action, says: "grant" });
      if (asked.type === "set_approval_mode") {
        words.push({ rule, action, says: asked.mode === "auto" ? "grant" : "manual" });
      }
    }
    if (rule.stopAfterMatch) break;
  }
  return { words, status: String(now["thread.status"]), ran };
}

const inScope = (world: ModelWorld) => (rule: ModelRule) =>
  [null, world.identityId].includes(rule.identityId) && [null, world.assistantId].includes(rule.assistantId);

/** Returns every combination for the conditions on these fields, and for some further conditions. */
function guesses(walks: readonly ModelWalk[], fields: ReadonlySet<string>, further: readonly Leaf[] = []): Guess[] {
  const onFields = walks
    .flatMap(({ rules }) => rules.flatMap(({ conditions }) => leavesOf(conditions)))
    .filter(({ field }) => fields.has(field));
  const leaves = [...new Set([...onFields, ...further])];
  return Array.from(
    { length: 2 ** leaves.length },
    (_, bits) => new Map(leaves.map((leaf, place) => [leaf, ((bits >> place) & 1) === 1])),
  );
}

/** Returns the conditions of the draft's rules on values that the message's rules set for some guesses and not for others. */
function movedByGuess(received: ModelWalk, fields: ReadonlySet<string>, created: ModelWalk): Leaf[] {
  const ran = guesses([received], fields).map((guess) => walk(received, "email.received", guess).ran);
  const inDoubt = received.rules.filter((rule) => ran.some((of) => of.has(rule)) && !ran.every((of) => of.has(rule)));
  const moves = (type: RuleAction["type"]) => inDoubt.some(({ actions }) => actions.some((each) => each.type === type));
  return created.rules
    .flatMap(({ conditions }) => leavesOf(conditions))
    .filter(
      ({ field }) =>
        (field === "thread.status" && moves("set_thread_status")) || (field === "contact.tag" && moves("add_tag")),
    );
}

export const unsureConditions = (world: ModelWorld): number =>
  [world.received, world.created]
    .flatMap(({ rules }) => rules.flatMap(({ conditions }) => leavesOf(conditions)))
    .filter(({ field }) => field !== "identity.id").length;

/** Returns the ids of the rules, and `switch`, that let the draft be sent without a person; none if a person is asked. */
export function whoLetsItGo(world: ModelWorld): string[] {
  if (world.mail?.whose === "program") return [];
  const isOurs = inScope(world);
  const received = { ...world.received, rules: world.received.rules.filter(isOurs) };
  const created = { ...world.created, rules: world.created.rules.filter(isOurs) };
  const walks = [received, created];
  const wordsOf = (guess: Guess): Word[] => [
    ...walk(received, "email.received", guess).words,
    ...walk(created, "draft.created", guess).words,
  ];
  const actual = wordsOf(new Map());
  const proven = world.mail?.kind === "proven";

  /** True if this rule's grant differs between the guesses. */
  const hangs = (word: Word, fields: ReadonlySet<string>): boolean =>
    guesses(walks, fields, movedByGuess(received, fields, created)).some((guess) => {
      const words = wordsOf(guess);
      const at = words.findIndex(({ rule, action }) => rule === word.rule && action === word.action);
      return at < 0 || words.slice(at + 1).some(({ says }) => says === "manual");
    });
  const looksAt = ({ rule }: Word, fields: ReadonlySet<string>) =>
    leavesOf(rule.conditions).some(({ field }) => fields.has(field));

  function holds(word: Word): boolean {
    if (world.humanRequired) return false;
    const onProof = union(who, movable);
    const onText = proven ? written : union(written, onProof);
    const needsProof = looksAt(word, onProof) || hangs(word, onProof);
    if (needsProof && !(proven && everybodyCovered(world))) return false;
    return !(looksAt(word, written) || hangs(word, onText)) || isToFromAlone(world);
  }

  let by = world.switchOn && !world.humanRequired ? ["switch"] : [];
  const overlooked = world.switchOn && !proven ? manualsOfAnotherSender(received, created) : new Set<ModelRule>();
  for (const rule of [...received.rules, ...created.rules]) {
    const said = actual.filter((word) => word.rule === rule);
    if (said.length === 0 && overlooked.has(rule)) by = [];
    for (const word of said) {
      if (word.says === "manual") by = [];
      // A later `manual` of the same guessed evaluation is judged in `holds`; a certain one clears the grant below.
      else if (actual.slice(actual.indexOf(word) + 1).some(({ says }) => says === "manual")) continue;
      else if (holds(word)) by = [...by, rule.id];
    }
  }
  return by;
}

/** Returns the rules that would ask for a person if another sender wrote, by trying every sender. */
function manualsOfAnotherSender(received: ModelWalk, created: ModelWalk): Set<ModelRule> {
  const asked = new Set<ModelRule>();
  const take = (words: Word[]) => {
    for (const { rule, says } of words) if (says === "manual") asked.add(rule);
  };
  const ofMessage = guesses([received], who).map((guess) => walk(received, "email.received", guess));
  for (const { words } of ofMessage) take(words);
  // If the message's rules may have set different statuses, the status that the draft's rules see is unknown.
  const moved = new Set(ofMessage.map(({ status }) => status)).size > 1;
  for (const guess of guesses([created], moved ? union(who, movable) : who)) {
    take(walk(created, "draft.created", guess).words);
  }
  return asked;
}

function everybodyCovered({ mail, recipients, coveredRecipients }: ModelWorld): boolean {
  if (mail === null) return false;
  const speaksFor = { to: mail.to, cc: mail.cc, reply_to: mail.replyTo };
  const covered = [mail.from, ...mail.covers.flatMap((field) => speaksFor[field]), ...coveredRecipients];
  return everybody(recipients).every((address) => isAmong(address, covered));
}

function isToFromAlone({ mail, recipients }: ModelWorld): boolean {
  if (mail === null) return false;
  const took = [mail.from, ...mail.to, ...mail.cc];
  return (
    recipients.to.every((address) => isAmong(address, [mail.from])) &&
    [...recipients.cc, ...recipients.bcc].every((address) => isAmong(address, took))
  );
}

const everybody = ({ to, cc, bcc }: ModelWorld["recipients"]): string[] => [...to, ...cc, ...bcc];
const isAmong = (address: string, addresses: readonly string[]): boolean =>
  addresses.some((other) => other.toUpperCase() === address.toUpperCase());
