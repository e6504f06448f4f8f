import type { DecisionResult } from "#src/channels/approvalDecisions.ts";
import { editPlace } from "#src/channels/approvalView.ts";
import { editFields, editForm, maxEditText } from "#src/channels/slack/editForm.ts";
import type { ChatQuestion } from "#src/commands/approvals/chatQuestions.ts";
import type { ClickResult, SlackHookOptions } from "./options.ts";
import type { Interaction } from "./payload.ts";
import { endOf, sentenceOf } from "./sentences.ts";

/** Opens the form that edits the draft; or reports why there is none, with a link to the page. */
export async function askEdit(
  options: SlackHookOptions,
  { interaction, question, token }: { interaction: Interaction; question: ChatQuestion; token: string },
): Promise<void> {
  const { replies, publicUrl, clock } = options;
  const { responseUrl } = interaction;
  const link = await options.find(token);
  if (!link) return;
  const { threadSubject, content } = link;
  const ended = endOf(link, clock.now().getTime());
  if (ended) return replies.conclude(responseUrl, { sentence: ended, threadSubject });
  const place = editPlace(link, maxEditText);
  if (place === null) return replies.tell(responseUrl, { sentence: "Approvers cannot edit this draft here." });
  const config = question.channel?.config ?? {};
  const triggerId = "triggerId" in interaction ? interaction.triggerId : "";
  const edit = { subject: content.subject, text: content.body_text };
  const form = { config, triggerId, token, responseUrl, threadSubject, edit };
  if (place === "chat" && (await replies.openEditForm(form))) return;
  const page = { url: `${publicUrl}/a/${token}?d=approve`, name: "Open the page" };
  await replies.tell(responseUrl, { sentence: "This draft cannot be edited in Slack.", page });
}

type EditSubmission = {
  interaction: Extract<Interaction, { kind: "edit" }>;
  token: string;
  requestId: string | undefined;
};

/**
 * Handles the submitted form of an edit. The first submission shows the changes in the form and stores nothing; the second one edits and
 * approves, if its text is the one whose changes were shown.
 */
export async function submitEdit(
  options: SlackHookOptions,
  { interaction, token, requestId }: EditSubmission,
): Promise<ClickResult> {
  const { by: user, responseUrl, edit, previewed } = interaction;
  if ([...edit.text].length > maxEditText)
    return { shown: errorAt("text", `Please shorten the text to ${maxEditText.toLocaleString("en")} characters.`) };
  const by = { kind: "slack", id: user.id, name: user.name } as const;
  const result = await options.previewEdit({ token, by, ...edit });
  const press = { by: user.name, at: options.clock.now().toISOString() };
  if (result.kind === "edit_refused") return { shown: errorAt(result.field ?? "text", result.sentence) };
  if (result.kind !== "preview") return { shown: errorAt("text", sentenceOf(result, press, undefined)) };
  const { view, editedSha256 } = result;
  if (editedSha256 !== previewed) {
    const { card, threadSubject } = view;
    const form = editForm({ token, responseUrl, threadSubject, edit, preview: { card, editedSha256 } });
    return { shown: { response_action: "update", view: form } };
  }
  const decided = await options.decide({
    ...{ token, decision: "edit", edit: { ...edit, previewedSha256: previewed }, reason: undefined, by },
    // The caller's address is Slack's, not the person's.
    ...{ ip: undefined, userAgent: undefined, requestId },
  });
  if (decided.kind === "edit_refused") return { shown: errorAt("text", decided.sentence) };
  return { after: () => concludeEdit(options, { responseUrl, token, press, decided }) };
}

async function concludeEdit(
  options: SlackHookOptions,
  said: { responseUrl: string | null; token: string; press: { by: string; at: string }; decided: DecisionResult },
): Promise<void> {
  const view = await options.find(said.token).catch(() => undefined);
  const sentence = sentenceOf(said.decided, said.press, view);
  await options.replies.conclude(said.responseUrl, { sentence, threadSubject: view?.threadSubject ?? "" });
}

/** Slack's answer that shows a sentence under a field of the form, which stays open. */
const errorAt = (field: keyof typeof editFields, sentence: string) => ({
  response_action: "errors",
  errors: { [editFields[field]]: sentence },
});
