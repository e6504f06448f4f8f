import type { ApprovalMail } from "./approvalMail.ts";
import { cutNote, type Excerpt } from "./excerpt.ts";

/** The mail for a program that shows no HTML. Text by others is shown behind a bar, so that it cannot be taken for ours. */
export function mailAsText(mail: ApprovalMail): string {
  return blocks([
    mail.title.toUpperCase(),
    mail.lead,
    mail.code && `CODE: ${mail.code.digits}\n${mail.code.sentence}`,
    mail.warnings.map((warning) => `! ${warning}`).join("\n"),
    mail.newer && blocks([`THE NEWER MESSAGE\nFrom ${mail.newer.from}\n${mail.newer.at}`, quoted(mail.newer.text)]),
    mail.head.map(({ label, values }) => `${label}: ${values.join(", ")}`).join("\n"),
    ...mail.parts.map((part, index) => blocks([index > 0 && `${part.label}:`, quoted(part.text)])),
    `${mail.approve.label.toUpperCase()}\n${mail.approve.url}`,
    `${mail.reject.label.toUpperCase()}\n${mail.reject.url}`,
    mail.rationale && blocks(["WHY THE AGENT WROTE IT", quoted(mail.rationale)]),
    mail.answers && answers(mail.answers),
    `--\n${mail.facts.join("\n")}`,
  ]);
}

const answers = (message: NonNullable<ApprovalMail["answers"]>): string =>
  blocks([
    [
      "THE MESSAGE IT ANSWERS",
      `From: ${message.from} (${message.verified})`,
      `Subject: ${message.subject}`,
      `Received: ${message.at}`,
      ...(message.attachments.length > 0 ? [`Attached: ${message.attachments.join(", ")}`] : []),
    ].join("\n"),
    quoted(message.text),
    message.quoted,
  ]);

function quoted(text: Excerpt): string {
  const lines = (text.shown || "(no text)").split("\n").map((line) => `  | ${line}`.trimEnd());
  const note = cutNote(text);
  return [...lines, ...(note ? [`  ${note}`] : [])].join("\n");
}

const blocks = (parts: (string | null | undefined | false)[]): string => parts.filter(Boolean).join("\n\n");
