import { claimsToBeColleagues, type MessageRow, textsBefore, whoseMail } from "#projections/messages/queries.ts";
import type { AnsweredMessage, OwnWarning } from "#src/channels/approvalView.ts";
import { receivedFacts } from "#src/channels/attachments/attachmentFacts.ts";
import { earlierText } from "#src/channels/card/earlierTexts.ts";
import { foldQuotations, quotesAnything } from "#src/channels/card/quotes.ts";
import { unprovenColleague, whoseMailInWords } from "#src/channels/card/whoseMail.ts";
import { type Hint, hintsAbout } from "#src/channels/hints/hints.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { MessageBody } from "#streams/thread/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { absenceHint } from "./absenceNotice.ts";

type Given = { message: MessageRow; identity: Pick<Identity, "signatureText"> };

/** A received message for display, with the notes and hints about it. */
export type MessageWithHints = { shown: AnsweredMessage; notes: OwnWarning[]; hints: Hint[] };

/** Builds the message that a draft answers, with what an approver should know about it. Notes are facts; hints are guesses. */
export async function messageWithHints(deps: Dependencies, given: Given): Promise<MessageWithHints> {
  const { message } = given;
  const body = await bodyOf(deps, message);
  const shown = await shownMessage(deps, given, body);
  const read = { subject: message.subject, newText: shown.newText, text: body.text, html: body.html };
  const notes = [...(await whoseInWords(deps, message)), ...message.notes];
  const hints = [...hintsAbout(read), ...(await absenceHint(deps, message, body.text))];
  return { shown, notes: notes.map(noteOn), hints };
}

async function whoseInWords({ reads }: Dependencies, message: MessageRow): Promise<string[]> {
  if (message.kind === "customer" && !message.from_workspace) return [];
  const whose = (await whoseMail(reads, message.workspace_id, [message.id])).get(message.id);
  const words = whose ? whoseMailInWords(whose) : [];
  return claimsToBeColleagues(message) ? [unprovenColleague, ...words] : words;
}

/** Builds a received message for display. */
export const messageShown = async (deps: Dependencies, given: Given): Promise<AnsweredMessage> =>
  shownMessage(deps, given, await bodyOf(deps, given.message));

/** Quotations of earlier messages, and of our own signature, are folded. */
async function shownMessage(
  deps: Dependencies,
  { message, identity }: Given,
  body: MessageBody,
): Promise<AnsweredMessage> {
  const earlier = quotesAnything(body.text ?? "") ? await textsBefore(deps.reads, message.workspace_id, message) : [];
  return {
    fromName: message.from_name,
    fromEmail: message.from_email,
    receivedAt: (message.received_at ?? message.created_at).toISOString(),
    subject: message.subject,
    ...foldQuotations(body.text, [identity.signatureText ?? "", ...earlier].map(earlierText)),
    authentication: message.authentication,
    attachments: receivedFacts(message.attachments),
  };
}

async function bodyOf(deps: Dependencies, message: MessageRow): Promise<MessageBody> {
  if (message.body_blob === null) {
    return { text: message.body_text, html: message.body_html, extracted: message.extracted_text ?? "" };
  }
  const bytes = await deps.blobs.get(message.body_blob);
  return bytes ? JSON.parse(bytes.toString("utf8")) : { text: null, html: null, extracted: "" };
}

const noteOn = (note: string): OwnWarning => ({
  kind: "message_note",
  sentence: `About the message that it answers: ${note}`,
});
