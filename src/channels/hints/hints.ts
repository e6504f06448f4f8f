import { shortLine } from "#src/html/visible.ts";
import { type MailText, readMailHtml } from "#src/mail/in/html/mailText.ts";
import { cutText } from "#streams/cutText.ts";
import type { WarningKind } from "#streams/draft/warnings.ts";
import { addressesAgent } from "./addressesAgent.ts";
import { changedPayments } from "./payments.ts";
import { firstFitting } from "./rule.ts";
import { asksForSecrets } from "./secrets.ts";
import { sentencesOf } from "./sentences.ts";
import { unseenLetters } from "./unseenLetters.ts";

/** The text of a received message. `newText`: what its sender wrote this time; `text`: that with its quotations. */
export type HintInput = { subject: string; newText: string; text: string | null; html: string | null };

/** The kinds of warnings that are hints. */
export type HintKind = Extract<
  WarningKind,
  "addresses_agent" | "hidden_words" | "asks_for_secrets" | "changes_payment" | "absence_notice"
>;
export type Hint = { kind: HintKind; sentence: string };

/**
 * Finds what an approver may want to know about a message: it addresses the agent, contains text that its reader does not see, asks for
 * secrets, or announces changed payment data. At most one sentence of each kind, with a quotation. Decides by wording alone, so it misses
 * much and may be mistaken (README.md has the figures): it blocks nothing.
 */
export function hintsAbout({ subject, newText, text, html }: HintInput): Hint[] {
  const written = [...sentencesOf(subject), ...sentencesOf(newText)];
  const page = html === null ? null : readMailHtml(cutText(html, lookedAt));
  const unseen = [subject, text ?? newText, html ?? ""].map(unseenLetters).find((found) => found !== undefined);
  const hidden = page ? hiddenSentences(page) : [];
  const secretly = firstFitting(addressesAgent, [...(unseen ? sentencesOf(unseen) : []), ...hidden]);
  const toAgent = secretly ?? firstFitting(addressesAgent, [...written, ...sentencesOf(text ?? "")]);
  const concealed = unseen === undefined ? undefined : shortLine(unseen, 160);
  const secrets = firstFitting(asksForSecrets, written);
  const payment = firstFitting(changedPayments, written);
  return [
    ...(secretly
      ? [
          hint(
            "addresses_agent",
            `The message addresses an AI, in words that a reader does not see: “${secretly}”. Check how the agent reacted.`,
          ),
        ]
      : []),
    ...(toAgent && !secretly
      ? [
          hint(
            "addresses_agent",
            `The message seems to address an AI instead of a person: “${toAgent}”. Check how the agent reacted.`,
          ),
        ]
      : []),
    ...(concealed && !secretly
      ? [hint("hidden_words", `The message has words that a reader does not see, but the agent does: “${concealed}”.`)]
      : []),
    ...(secrets
      ? [
          hint(
            "asks_for_secrets",
            `The message seems to ask for something secret: “${secrets}”. Make sure that no secret is sent.`,
          ),
        ]
      : []),
    ...(payment
      ? [
          hint(
            "changes_payment",
            `The message seems to change where money goes: “${payment}”. Before you pay, ask the sender through another channel that you know.`,
          ),
        ]
      : []),
  ];
}

const hint = (kind: HintKind, sentence: string): Hint => ({ kind, sentence });

/** Maximum number of UTF-16 units of the HTML that are searched. */
const lookedAt = 128 * 1024;

const hiddenSentences = ({ hidden, aside }: MailText): string[] => sentencesOf([...hidden, ...aside].join("\n\n"));
