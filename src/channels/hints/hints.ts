import { shortLine } from "#src/html/visible.ts";
import { type MailText, readMailHtml } from "#src/mail/in/html/mailText.ts";
import { changedPayments } from "./payments.ts";
import { firstFitting } from "./rule.ts";
import { asksForSecrets } from "./secrets.ts";
import { sentencesOf } from "./sentences.ts";
import { toTheAgent } from "./toTheAgent.ts";
import { unseenLetters } from "./unseenLetters.ts";

/** What an agent read of a message that came in. `newText`: what its sender wrote this time; `text`: that with what it quotes. */
export type Heard = { subject: string; newText: string; text: string | null; html: string | null };

/** What a hint is about. */
export type HintKind = "agent" | "hidden" | "secrets" | "payment";
export type Hint = { kind: HintKind; sentence: string };

/**
 * What an approver may want to know of a message: that it speaks to the agent, has words that its reader does not see, asks for secrets or
 * tells of changed payment data. At most one sentence of each kind, each with a quotation. Words alone decide, so it misses much and may be
 * mistaken (README.md has the figures): it stops nothing.
 */
export function hintsAbout({ subject, newText, text, html }: Heard): Hint[] {
  const written = [...sentencesOf(subject), ...sentencesOf(newText)];
  const page = html === null ? null : readMailHtml(html.slice(0, lookedAt));
  const unseen = [subject, text ?? newText, html ?? ""].map(unseenLetters).find((found) => found !== undefined);
  const hidden = page ? hiddenSentences(page) : [];
  const secretly = firstFitting(toTheAgent, [...(unseen ? sentencesOf(unseen) : []), ...hidden]);
  const toAgent = secretly ?? firstFitting(toTheAgent, [...written, ...sentencesOf(text ?? "")]);
  const concealed = unseen === undefined ? undefined : shortLine(unseen, 160);
  const secrets = firstFitting(asksForSecrets, written);
  const payment = firstFitting(changedPayments, written);
  return [
    ...(secretly
      ? [
          hint(
            "agent",
            `The message speaks to an AI, in words that its reader does not see: “${secretly}”. Check what the agent made of it.`,
          ),
        ]
      : []),
    ...(toAgent && !secretly
      ? [
          hint(
            "agent",
            `The message seems to speak to an AI instead of a person: “${toAgent}”. Check what the agent made of it.`,
          ),
        ]
      : []),
    ...(concealed && !secretly
      ? [hint("hidden", `The message has words that its reader does not see, but the agent does: “${concealed}”.`)]
      : []),
    ...(secrets
      ? [
          hint(
            "secrets",
            `The message seems to ask for something secret: “${secrets}”. Make sure that nothing of the kind is sent.`,
          ),
        ]
      : []),
    ...(payment
      ? [
          hint(
            "payment",
            `The message seems to change where money goes: “${payment}”. Ask the sender by a way you know before anybody pays.`,
          ),
        ]
      : []),
  ];
}

const hint = (kind: HintKind, sentence: string): Hint => ({ kind, sentence });

/** As much of the HTML as is looked at, in UTF-16 units. */
const lookedAt = 128 * 1024;

const hiddenSentences = ({ hidden, aside }: MailText): string[] => sentencesOf([...hidden, ...aside].join("\n\n"));
