import type { FieldValue } from "../card/fields.ts";
import type { ApprovalMail } from "./approvalMail.ts";
import { type CutText, cutNote } from "./excerpt.ts";

/** Renders the mail for programs without HTML. Quoted text has a bar at the beginning of each line, so that it cannot pass for ours. */
export function mailAsText(mail: ApprovalMail): string {
  return blocks([
    mail.title.toUpperCase(),
    mail.lead,
    mail.escalation,
    mail.code && `CODE: ${mail.code.digits}\n${mail.code.sentence}`,
    mail.warnings.map((warning) => `! ${warning}`).join("\n"),
    mail.hints.map((hint) => `Hint: ${hint}`).join("\n"),
    mail.newer &&
      blocks([`THE NEWER MESSAGE\nFrom ${valueAsText(mail.newer.from)}\n${mail.newer.at}`, quoted(mail.newer.text)]),
    mail.changes && changes(mail.changes),
    mail.fields.map(({ label, values }) => `${label}: ${values.map(valueAsText).join(", ")}`).join("\n"),
    ...mail.parts.map((part, index) => blocks([index > 0 && `${part.label}:`, quoted(part.text), part.folded])),
    ...mail.notes.map(({ label, values }) => `${label}:\n${values.map((value) => `  | ${value}`).join("\n")}`),
    `${mail.approve.label.toUpperCase()}\n${mail.approve.url}`,
    mail.edit && `${mail.edit.label.toUpperCase()}\n${mail.edit.url}`,
    `${mail.askForChanges.label.toUpperCase()}\n${mail.askForChanges.url}`,
    `${mail.reject.label.toUpperCase()}\n${mail.reject.url}`,
    mail.rationale && blocks(["WHY THE AGENT WROTE IT", quoted(mail.rationale)]),
    mail.answers && answers(mail.answers),
    `--\n${mail.facts.join("\n")}`,
  ]);
}

function valueAsText({ name, text, mark }: FieldValue): string {
  const address = name === null ? text : `${name} <${text}>`;
  return mark === null ? address : `${address} (! ${mark})`;
}

/** Begins each line with a sign for its change, which quoted text cannot imitate. */
function changes({ title, sentences, pieces, left }: NonNullable<ApprovalMail["changes"]>): string {
  const signs = { same: "  |", added: "  +", removed: "  -" };
  const lines = pieces.flatMap(({ kind, text }) =>
    text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => `${signs[kind]} ${line.trim()}`),
  );
  const legend = lines.length > 0 && "(- removed, + added)";
  return blocks([
    title.toUpperCase(),
    sentences.map((sentence) => `  ${sentence}`).join("\n"),
    legend,
    lines.join("\n"),
    left,
  ]);
}

const answers = (message: NonNullable<ApprovalMail["answers"]>): string =>
  blocks([
    [
      "THE MESSAGE IT ANSWERS",
      `From: ${valueAsText(message.from)} (${message.proof})`,
      `Subject: ${message.subject}`,
      `Received: ${message.at}`,
      ...(message.attachments.length > 0 ? [`Attached: ${message.attachments.join(", ")}`] : []),
    ].join("\n"),
    quoted(message.text),
    message.folded,
  ]);

function quoted(text: CutText): string {
  const lines = (text.shown || "(no text)").split("\n").map((line) => `  | ${line}`.trimEnd());
  const note = cutNote(text);
  return [...lines, ...(note ? [`  ${note}`] : [])].join("\n");
}

const blocks = (parts: (string | null | undefined | false)[]): string => parts.filter(Boolean).join("\n\n");
