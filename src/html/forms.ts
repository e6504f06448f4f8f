import { asSentence } from "./asSentence.ts";
import { html, type Markup, type MarkupValue } from "./html.ts";

/** The token that a form of a page carries besides its fields. */
export type FormToken = { formToken: string };

/**
 * A form posted to `action`, without script. `once`: a random idempotency value, if posting twice must have one effect. `quiet`: without
 * a frame.
 */
export type FormOptions = { action: string; id?: string; className?: string; once?: string; label?: string };

export const form = ({ formToken }: FormToken, options: FormOptions, ...content: MarkupValue[]): Markup =>
  html`<form method="post" action="${options.action}"${attribute("id", options.id)}${attribute("class", options.className)}${attribute("aria-label", options.label)}>
<input type="hidden" name="form_token" value="${formToken}">${options.once !== undefined && html`<input type="hidden" name="once" value="${options.once}">`}
${content}
</form>
`;

export type FieldOptions = {
  name: string;
  label: MarkupValue;
  value?: string | null | undefined;
  /** Shown below the label, and read out with the field. */
  hint?: MarkupValue;
  /** Reason why the value was refused. */
  error?: string | undefined;
  required?: boolean;
  /** Needed if the name occurs on a page more than once. */
  id?: string;
};

type InputOptions = FieldOptions & {
  type?: "text" | "email" | "password" | "number" | "search" | "date" | "url";
  autocomplete?: string;
  minlength?: number;
  maxlength?: number;
  min?: number;
  max?: number;
  placeholder?: string;
  inputmode?: "numeric";
  /** Suggestions while typing: the id of a datalist. */
  list?: string;
  readonly?: boolean;
};

/** A single-line text field. */
export const field = (options: InputOptions): Markup => {
  const { type = "text", value } = options;
  const rest = ["autocomplete", "minlength", "maxlength", "min", "max", "placeholder", "inputmode", "list"] as const;
  return labelled(
    options,
    html`<input type="${type}"${common(options)}${attribute("value", value ?? undefined)}${rest.map((name) => attribute(name, options[name]))}${options.readonly && " readonly"}>`,
  );
};

/** A multi-line text field. `rows`: number of lines visible at first. */
export const area = (options: FieldOptions & { rows?: number; maxlength?: number; className?: string }): Markup =>
  labelled(
    options,
    // HTML drops the first line break after the tag, so one is added.
    html`<textarea${common(options)} rows="${options.rows ?? 4}"${attribute("maxlength", options.maxlength)}${attribute("class", options.className)}>
${options.value ?? ""}</textarea>`,
  );

export type SelectOption = { value: string; label: string };

/** A drop-down list from which one option is chosen. */
export const choice = (options: FieldOptions & { choices: readonly SelectOption[] }): Markup =>
  labelled(
    options,
    html`<select${common(options)}>${options.choices.map(
      ({ value, label }) =>
        html`<option value="${value}"${value === (options.value ?? "") && trueAttribute("selected")}>${label}</option>`,
    )}</select>`,
  );

/** A switch. A browser sends nothing for an unchecked box: a hidden field before it sends "false". */
export const switchField = (options: Omit<FieldOptions, "value" | "required"> & { on: boolean }): Markup => {
  const id = options.id ?? options.name;
  return html`<div class="field switch"><input type="hidden" name="${options.name}" value="false"><input type="checkbox" id="${id}" name="${options.name}" value="true"${options.on && trueAttribute("checked")}${described(options, id)}>
<label for="${id}">${options.label}</label>${below(options, id)}</div>
`;
};

export type ButtonKind = "approve" | "reject" | "plain" | "danger" | "quiet";

export const button = (
  label: MarkupValue,
  { kind = "plain", name, value, id }: { kind?: ButtonKind; name?: string; value?: string; id?: string } = {},
): Markup =>
  html`<button class="button ${kind}"${attribute("name", name)}${attribute("value", value)}${attribute("id", id)}>${label}</button>
`;

/** Why a form was refused; `field`: the API's name of the field that it is about. */
export type FormRefusal = { message: string; field?: string | undefined };

const sentenceOf = (words: string): string => asSentence(words.replace(/\.$/, ""));

const namesField = ({ message, field }: FormRefusal): boolean => message.startsWith(`${field}: `);

/** The sentence as it stands at its field: without the API's name of the field. */
const sentenceAtField = (refused: FormRefusal): string =>
  sentenceOf(namesField(refused) ? refused.message.slice(`${refused.field}: `.length) : refused.message);

/** Summary of the errors at the top of a page: screen readers read it first. */
export const errorSummary = (refused: FormRefusal | undefined): Markup | undefined =>
  // A name of the API stays as it is written.
  refused && summary(namesField(refused) ? `${refused.message}.` : sentenceOf(refused.message));

/**
 * The content of a page whose form was refused, below a summary. The sentence is on the page once: at its field, to which the summary then
 * leads, or in the summary if no field shows it.
 */
export function withErrorSummary(refused: FormRefusal | undefined, ...content: MarkupValue[]): Markup {
  const shown = html`${content}`;
  if (!refused) return shown;
  const { markup } = shown;
  const end = markup.indexOf(html`-error">${sentenceAtField(refused)}</p>`.markup);
  if (end < 0) return html`${errorSummary(refused)}${shown}`;
  const id = markup.slice(markup.lastIndexOf('"', end) + 1, end);
  return html`${summary(html`<a href="#${id}">Show me where</a>`)}${shown}`;
}

const summary = (content: MarkupValue): Markup =>
  html`<div class="card alert" role="alert" id="error"><p><strong>That did not work.</strong> ${content}</p></div>
`;

/** Returns the error sentence if it is about this field, or about a part of it. */
export const errorAt = (refused: FormRefusal | undefined, name: string): string | undefined =>
  refused?.field?.replace(/[[.].*$/, "") === name ? sentenceAtField(refused) : undefined;

const labelled = (options: FieldOptions, input: Markup): Markup => {
  const id = options.id ?? options.name;
  return html`<div class="field"><label for="${id}">${options.label}${options.required !== true && html` <span>(optional)</span>`}</label>${below(options, id)}
${input}</div>
`;
};

const below = ({ hint, error }: { hint?: MarkupValue; error?: string | undefined }, id: string): Markup =>
  html`${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}${
    error !== undefined && html`<p class="error" id="${id}-error">${error}</p>`
  }`;

const common = (options: FieldOptions): Markup => {
  const id = options.id ?? options.name;
  return html` id="${id}" name="${options.name}"${described(options, id)}${options.required === true && trueAttribute("required")}`;
};

const described = ({ hint, error }: { hint?: MarkupValue; error?: string | undefined }, id: string): Markup => {
  const ids = [...(hint === undefined ? [] : [`${id}-hint`]), ...(error === undefined ? [] : [`${id}-error`])];
  return html`${ids.length > 0 && attribute("aria-describedby", ids.join(" "))}${error !== undefined && attribute("aria-invalid", "true")}`;
};

const attribute = (name: string, value: string | number | undefined): Markup | undefined =>
  value === undefined ? undefined : html` ${name}="${value}"`;

const trueAttribute = (name: string): Markup => html` ${name}`;
