import { shortLine } from "#src/html/visible.ts";
import type { EditedText } from "../approvalDecisions.ts";
import type { ReviewCard } from "../card/reviewCard.ts";
import { allNeutral, neutral, note, plain } from "./blocks.ts";
import { editPieces } from "./cardPieces.ts";
import { formNames, formState, type ReasonFormState } from "./reasonForm.ts";

/** Maximum number of characters of a draft's text that can be edited in Slack: the limit of a form's field. */
export const maxEditText = 3_000;

/** Slack ids of the form's fields, and of the input in each. */
export const editFields = { subject: "subject", text: "text" } as const;

/**
 * `preview`: the edited draft, whose changes are shown above the fields, and its hash; absent in the first form. The button of the first
 * form shows the preview. The button of the preview approves, if the fields were not changed again.
 */
type EditFormContent = ReasonFormState & {
  threadSubject: string;
  edit: EditedText;
  preview?: { card: ReviewCard; editedSha256: string };
};

/** The form that edits a draft. */
export const editForm = ({ token, responseUrl, threadSubject, edit, preview }: EditFormContent) => ({
  type: "modal",
  callback_id: formNames.edit,
  private_metadata: formState({ token, responseUrl, ...(preview && { previewed: preview.editedSha256 }) }),
  title: plain("Edit this draft"),
  // Our own text on a button: Slack shows a lone `&` there unescaped.
  submit: preview ? { ...plain(preview.card.approve), text: preview.card.approve } : plain("Check the edit"),
  close: plain("Cancel"),
  blocks: [
    note(`Subject: ${neutral(shortLine(threadSubject, 200)) || "(no subject)"}`),
    ...(preview ? [...editPieces(allNeutral(preview.card)).flatMap(({ blocks }) => blocks), note(notSaved)] : []),
    input("subject", "Subject", edit.subject),
    input("text", "Text", edit.text),
  ],
});

const notSaved = "The edit is not saved yet. The button saves and approves exactly this text, in your name.";

const input = (name: keyof typeof editFields, label: string, value: string) => ({
  type: "input",
  block_id: editFields[name],
  optional: false,
  label: plain(label),
  element: {
    type: "plain_text_input",
    action_id: editFields[name],
    multiline: name === "text",
    max_length: name === "text" ? maxEditText : 998,
    ...(value !== "" && { initial_value: value }),
  },
});
