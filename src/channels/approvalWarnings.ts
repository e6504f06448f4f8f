import type { Difference } from "#src/html/compare/compareReadings.ts";
import { hasUnseen, shortLine, visibleLine } from "#src/html/visible.ts";
import { isOfVersion, type VersionWarning, type WarningKind, warningKinds } from "#streams/draft/warnings.ts";
import type { ApprovalView } from "./approvalView.ts";
import { type Link, linksOf } from "./card/links.ts";
import { named, writerOf } from "./card/names.ts";
import { answeredInWords, othersInWords } from "./card/sameMessage.ts";
import { type DraftLetter, letterOf } from "./letter.ts";

/** Maximum number of characters of an example within a sentence. */
const exampleLength = 100;

/** Maximum number of characters shown of a file name: enough for all of it, because the extension at the end says what the file is. */
const fileNameLength = 300;

/** More addresses than an answer to a person usually has. */
const manyRecipients = 5;

/** `about`: the part of the card that the sentence is about: the whole draft, the answered message, or the text that would be sent. */
export type ApprovalWarning = { kind: WarningKind; about: "draft" | "message" | "letter"; sentence: string };

/** The part of a view that stays the same for one version of a draft. */
export type VersionView = Pick<
  ApprovalView,
  "content" | "textDerived" | "attachments" | "answers" | "participants" | "repliesLeave" | "warnings" | "hints"
>;

type WarnedView = VersionView &
  Pick<ApprovalView, "reachedLimit" | "newerMessage" | "answeredMeanwhile" | "otherDrafts">;

/** Lists what an approver should know before deciding, most important first: warnings derived from the view, then the view's own. */
export function approvalWarnings(view: WarnedView, letter: DraftLetter, links: readonly Link[]): ApprovalWarning[] {
  const found = rules.map(([kind, about, rule]) => ({ kind, about, sentence: rule(view, letter, links) }));
  const own = view.warnings.map(({ kind, sentence }) => ({
    kind,
    about: "draft" as const,
    sentence: visibleLine(sentence),
  }));
  const all = [...found, ...own].filter((warning): warning is ApprovalWarning => warning.sentence !== undefined);
  return all.filter(({ sentence }, index) => all.findIndex((each) => each.sentence === sentence) === index);
}

/** Returns the kinds of warnings and hints to store with a version: what its card says too, without what may change after this. */
export function versionWarnings(view: VersionView): VersionWarning[] {
  const letter = letterOf(view.content, view);
  const alone = { ...view, reachedLimit: null, newerMessage: null, answeredMeanwhile: null, otherDrafts: [] };
  const found = [...approvalWarnings(alone, letter, linksOf(letter)), ...view.hints].map(({ kind }) => kind);
  return warningKinds.filter(isOfVersion).filter((kind) => found.includes(kind));
}

type WarningRule = (view: WarnedView, letter: DraftLetter, links: readonly Link[]) => string | undefined;

const overLimit: WarningRule = ({ reachedLimit }) =>
  reachedLimit ? `You are asked because ${reachedLimit}: the other side may be a machine.` : undefined;

const newerMessage: WarningRule = ({ newerMessage, content }) => {
  if (!newerMessage) return undefined;
  return `${writerOf(newerMessage)} wrote again after the message this ${content.in_reply_to ? "reply answers" : "mail is about"}. This draft will not be sent.`;
};

const unverifiedSender: WarningRule = ({ answers }) =>
  answers?.authentication && !answers.authentication.aligned
    ? `We could not verify that the message really comes from ${visibleLine(answers.fromEmail)}.`
    : undefined;

/** Checks each recipient: one correct address does not suppress the warning about the others. */
const notTheSender: WarningRule = ({ answers, content }) => {
  const others = answers ? content.to.filter((address) => !same(address, answers.fromEmail)) : [];
  if (!answers || others.length === 0) return undefined;
  const sender = visibleLine(answers.fromEmail);
  return others.length < content.to.length
    ? `The reply also goes to ${listed(others)}, not only to ${sender}, who wrote the message.`
    : `The reply goes to ${listed(others)}, not to ${sender}, who wrote the message.`;
};

const repliesLeave: WarningRule = ({ content, repliesLeave }) =>
  repliesLeave && content.reply_to !== null
    ? `Replies to it will not arrive here: they go to ${visibleLine(content.reply_to)}, which is not an address of this workspace.`
    : undefined;

const newcomers: WarningRule = ({ answers, participants, content: { to, cc, bcc } }) => {
  const known = new Set(participants.map((address) => address.toLowerCase()));
  const strangers = [...to, ...cc, ...bcc].filter((address) => !known.has(address.toLowerCase()));
  return answers && strangers.length > 0
    ? `It goes to people who have not taken part in this conversation: ${listed(strangers)}.`
    : undefined;
};

const recipients: WarningRule = ({ content }) => {
  const count = content.to.length + content.cc.length + content.bcc.length;
  return count > manyRecipients ? `It goes to ${count} addresses.` : undefined;
};

const hiddenRecipients: WarningRule = ({ content }) =>
  content.bcc.length > 0
    ? `${content.bcc.length === 1 ? "1 hidden recipient (Bcc) gets" : `${content.bcc.length} hidden recipients (Bcc) get`} a copy.`
    : undefined;

const lookalikes: WarningRule = ({ content }) => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII
  const odd = [...content.to, ...content.cc, ...content.bcc].find((address) => /[^\x00-\x7f]/.test(address));
  return odd === undefined
    ? undefined
    : `The address ${visibleLine(odd)} has letters outside the plain Latin alphabet: check it carefully.`;
};

const twoVersions: WarningRule = (_, { difference }) =>
  difference === null
    ? undefined
    : [
        "Its HTML and its plain text differ. Recipients see only one of the two: read both.",
        ...differences(difference),
      ].join(" ");

/** Lists the differences of two forms: at most three of each kind, since a warning is read whole. */
function differences({ onlyHtml, onlyText, linksOnlyHtml, linksOnlyText }: Difference): string[] {
  const kinds: [string, string[]][] = [
    ["Only the HTML says", onlyHtml],
    ["Only the plain text says", onlyText],
    ["Only the HTML links to", linksOnlyHtml],
    ["Only the plain text names the link", linksOnlyText],
  ];
  return kinds.filter(([, found]) => found.length > 0).map(([label, found]) => `${label}: ${examplesOf(found)}.`);
}

const examplesOf = (found: string[]): string =>
  `${found
    .slice(0, 3)
    .map((one) => `“${shortLine(one, exampleLength)}”`)
    .join(", ")}${found.length > 3 ? " and more" : ""}`;

/** Warns of a link whose text names another site than its target. */
const misleadingLinks: WarningRule = (_view, _letter, links) => {
  const found = links.filter(({ names }) => names !== null);
  if (found.length === 0) return undefined;
  const examples = found.slice(0, 3).map(({ names, host }) => `one names ${names} and leads to ${host}`);
  return `Links lead to other places than they name: ${examples.join("; ")}${found.length > 3 ? `; and ${found.length - 3} more` : ""}.`;
};

const filesWithWarnings: WarningRule = ({ attachments }) => {
  const found = attachments.filter(({ warning }) => warning !== null);
  return found.length === 0
    ? undefined
    : found
        .map(({ name, warning }) => `The file ${named(name, fileNameLength)}: ${visibleLine(warning ?? "")}`)
        .join(" ");
};

const unseenCharacters: WarningRule = ({ content }, { html, text }) => {
  const written = [content.subject, content.from.name, text].some(hasUnseen);
  // HTML can write such a character as an entity, so the check runs on the decoded text.
  const inHtml = html !== null && /\[U\+[0-9A-F]{4,6}(?: ×\d+)?\]/.test(html.asText);
  return written || inHtml
    ? "It has invisible characters, or characters that change the order of letters. They are shown as their code, like [U+202E]."
    : undefined;
};

const rules: readonly (readonly [WarningKind, ApprovalWarning["about"], WarningRule])[] = [
  ["answered_meanwhile", "draft", answeredInWords],
  ["answer_limit", "draft", overLimit],
  ["newer_message", "draft", newerMessage],
  ["other_draft", "draft", othersInWords],
  ["unproven_sender", "message", unverifiedSender],
  ["other_recipient", "letter", notTheSender],
  ["replies_leave", "letter", repliesLeave],
  ["new_recipient", "letter", newcomers],
  ["many_recipients", "letter", recipients],
  ["hidden_recipient", "letter", hiddenRecipients],
  ["lookalike_address", "letter", lookalikes],
  ["misleading_link", "letter", misleadingLinks],
  ["risky_file", "letter", filesWithWarnings],
  ["forms_differ", "letter", twoVersions],
  ["unseen_characters", "letter", unseenCharacters],
];

/** Lists every address: approval covers only what was shown. */
const listed = (addresses: readonly string[]): string => addresses.map(visibleLine).join(", ");

const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();
