import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { type FormField, type FormPart, fieldsOf } from "./fields.ts";
import { type InputState, inputOf } from "./formFields.ts";
import { emptyForm, isOn } from "./readForm.ts";

/** Fields that have a default for everybody: they are folded below those that have to be filled in. */
type Fold = {
  title: string;
  /** Summary shown while all fields have their defaults. */
  usual: string;
  fields: readonly string[];
  /** Folded on the form of a new identity alone. */
  onlyWhenNew?: true;
};

const folds: readonly Fold[] = [
  {
    title: "Signature and Reply-To",
    usual: "no signature, and answers arrive here",
    fields: ["reply_to_email", "signature_text", "signature_html"],
    onlyWhenNew: true,
  },
  {
    title: "The agent",
    usual: "gets 10 messages of history, and answers only people who wrote first",
    fields: ["assistant_id", "thread_history_depth", "can_send_cold"],
    onlyWhenNew: true,
  },
  {
    title: "How a draft is approved",
    usual: "one approval, which sends the reply",
    fields: [
      "auto_approve_replies",
      "send_on_channel_approval",
      "approvals_required",
      "confirm_code",
      "edit_by_channel",
      "aliases",
      "covered_recipients",
    ],
  },
  {
    title: "If the approver does not answer",
    usual: "nobody else is asked",
    fields: ["secondary_approval_channel", "escalation_delay_minutes"],
  },
];

const foldsOf = (form: FormPart | "new"): readonly Fold[] =>
  form === "mail" ? [] : folds.filter(({ onlyWhenNew }) => form === "new" || onlyWhenNew !== true);

/** The fields of a form that are in sight. */
export function openFieldsOf(form: FormPart | "new"): readonly FormField[] {
  const folded = foldsOf(form).flatMap(({ fields }) => fields);
  return fieldsOf(form).filter(({ name }) => !folded.includes(name));
}

/**
 * The folded fields of a form. Each summary says what is set; a part with an error, or with one of the fields `unfolded`, is open. Nothing in
 * it is marked as required, because a browser cannot point into a closed part; the service checks it.
 */
export const foldedFields = (form: FormPart | "new", state: InputState, unfolded: readonly string[] = []): Markup[] =>
  foldsOf(form).map(({ title, usual, fields: names }) => {
    const within = fieldsOf(form).filter(({ name }) => names.includes(name));
    const set = within.flatMap((field) => setInWords(field, state.form));
    const isOpen = names.some((name) => state.error?.input.split(".")[0] === name || unfolded.includes(name));
    return html`<details class="fold"${isOpen && html` open`}><summary>${title}<span class="set">${set.length === 0 ? usual : set.join(", ")}</span></summary>
${within.map((field) => inputOf({ ...field, required: undefined, kind: field.kind === "address" ? "line" : field.kind }, state))}</details>
`;
  });

/** A field in a few words, if it differs from its default. */
function setInWords({ name, label, kind }: FormField, form: URLSearchParams): string[] {
  const input = kind === "channel" ? `${name}.type` : name;
  const isUsual = (form.getAll(input).at(-1) ?? "") === (usualForm.get(input) ?? "");
  if (isUsual) return [];
  if (kind === "switch") return [`${label}: ${isOn(form, name) ? "on" : "off"}`];
  return [kind === "number" ? `${label}: ${shortLine(form.get(name) ?? "", 20)}` : label];
}

const usualForm = emptyForm();
