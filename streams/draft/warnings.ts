/**
 * Kinds of warnings about a draft, the most important first. A draft with a heavy one is opened and decided by itself, not on a sheet with
 * others.
 */
export const warningWeights = {
  answered_meanwhile: "heavy",
  answer_limit: "light",
  newer_message: "heavy",
  other_draft: "heavy",
  not_examined: "heavy",
  unproven_sender: "heavy",
  addresses_agent: "heavy",
  hidden_words: "heavy",
  asks_for_secrets: "heavy",
  changes_payment: "heavy",
  other_recipient: "heavy",
  replies_leave: "heavy",
  new_recipient: "heavy",
  many_recipients: "light",
  hidden_recipient: "light",
  lookalike_address: "heavy",
  misleading_link: "heavy",
  risky_file: "heavy",
  forms_differ: "heavy",
  unseen_characters: "heavy",
  absence_notice: "light",
  edited_often: "light",
  message_note: "light",
} as const;

export type WarningKind = keyof typeof warningWeights;

export const warningKinds = Object.keys(warningWeights) as WarningKind[];

export const heavyWarnings: readonly WarningKind[] = warningKinds.filter((kind) => warningWeights[kind] === "heavy");

/** Kinds that may become true or untrue after a version was made: they are judged whenever a draft is read, and never stored. */
export const judgedWarnings = ["answered_meanwhile", "newer_message", "other_draft", "unproven_sender"] as const;

export type JudgedWarning = (typeof judgedWarnings)[number];

/** Kinds that are shown when a draft is opened, and neither stored nor listed: they are about what its approver was shown before. */
type CardWarning = "edited_often";

/** Kinds that an event after the version's own adds to it. `answer_limit`: the draft came back because of the limit of answers. */
type AddedWarning = "answer_limit";

/** Kinds that are found when a version is made, and stored in its event. `not_examined`: the version could not be examined. */
export type VersionWarning = Exclude<WarningKind, JudgedWarning | CardWarning | AddedWarning>;

/** Kinds that belong to a version. */
export type StoredWarning = VersionWarning | AddedWarning;

/** Kinds that lists show and filter. */
export type ListedWarning = StoredWarning | JudgedWarning;

export const isListed = (kind: WarningKind): kind is ListedWarning => kind !== "edited_often";

export const listedWarnings: readonly ListedWarning[] = warningKinds.filter(isListed);

/** Sorts warnings, the most important first. */
export const sortWarnings = (found: readonly ListedWarning[]): ListedWarning[] =>
  listedWarnings.filter((kind) => found.includes(kind));

export const isJudged = (kind: WarningKind): kind is JudgedWarning => judgedWarnings.some((judged) => judged === kind);

export const isOfVersion = (kind: WarningKind): kind is VersionWarning =>
  isListed(kind) && !isJudged(kind) && kind !== "answer_limit";

/**
 * Returns the limit of answers because of which a draft came back, without the advice to a key; null if it came back for another reason.
 * streams/answeredAddress/looping.ts has the whole sentence.
 */
export const reachedLimitIn = (because: string): string | null =>
  /^\d+ answers to this address were sent within .* which is the limit(?=:)/.exec(because)?.[0] ?? null;

/** Adds the warning of a version that comes back because of the limit of answers. */
export const warnedOfLimit = (warnings: StoredWarning[], because: string): StoredWarning[] =>
  reachedLimitIn(because) === null ? warnings : [...new Set([...warnings, "answer_limit" as const])];
