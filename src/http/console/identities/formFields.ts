import { area, choice, field as lineField, switchField } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { type ChannelField, type ChannelType, channelTypes, inputName, typeInput } from "./channelFields.ts";
import type { FormField } from "./fields.ts";
import { isOn } from "./readForm.ts";
import { type AssistantChoice, type DomainChoice, mailDomainOf } from "./workspaceContext.ts";

/** Values and choices of the inputs. `error`: shown at the input of that name. */
export type InputState = {
  form: URLSearchParams;
  error: { input: string; sentence: string } | undefined;
  domains: readonly DomainChoice[];
  assistants: readonly AssistantChoice[];
};

/** Renders a field as inputs. */
export function inputOf(field: FormField, filled: InputState): Markup {
  const { name, label, hint, required } = field;
  const { form } = filled;
  const value = form.get(name) ?? "";
  const common = { name, label, hint, value, error: errorOf(filled, name), ...(required && { required }) };
  switch (field.kind) {
    case "switch":
      return switchField({ name, label, hint, error: common.error, on: isOn(form, name) });
    case "number":
      return lineField({ ...common, inputmode: "numeric", autocomplete: "off" });
    case "address":
      return lineField({ ...common, type: "email", autocomplete: "off" });
    case "text":
      return area({ ...common, rows: 5 });
    case "lines":
      return area({ ...common, rows: 4 });
    case "domain":
      return choice({ ...common, choices: domainChoices(filled.domains) });
    case "assistant":
      return choice({ ...common, choices: assistantChoices(filled.assistants, value) });
    case "channel":
      return channelInputs(field, filled);
    case "line":
      return lineField({ ...common, autocomplete: "off" });
  }
}

const errorOf = ({ error }: InputState, input: string): string | undefined =>
  error?.input === input ? error.sentence : undefined;

const domainChoices = (domains: readonly DomainChoice[]) =>
  domains
    .filter(({ status }) => status === "verified")
    .map((domain) => ({
      value: domain.id,
      label: domain.sandbox ? `${domain.domain_name} (sandbox: works at once, for trying out)` : mailDomainOf(domain),
    }));

/** A chosen assistant that is not in the list any more stays chosen. */
function assistantChoices(assistants: readonly AssistantChoice[], chosen: string) {
  const known = assistants.map(({ id, name, status }) => ({
    value: id,
    label: status === "disabled" ? `${name} (disabled)` : name,
  }));
  const isKnown = chosen === "" || known.some(({ value }) => value === chosen);
  return [{ value: "", label: "None" }, ...known, ...(isKnown ? [] : [{ value: chosen, label: chosen }])];
}

/** A choice of channel type, and the fields of each type; the stylesheet hides those of other types. */
function channelInputs({ name, label, hint }: FormField, filled: InputState): Markup {
  const { form } = filled;
  const chosen = form.get(typeInput(name)) ?? "none";
  const error = errorOf(filled, typeInput(name));
  const types = Object.entries(channelTypes) as [ChannelType, (typeof channelTypes)[ChannelType]][];
  const radio = (value: string, words: string) => {
    const id = value === "none" ? typeInput(name) : `${typeInput(name)}.${value}`;
    return html`<span class="radio"><input type="radio" id="${id}" name="${typeInput(name)}" value="${value}"${chosen === value && html` checked`}><label for="${id}">${words}</label></span>`;
  };
  return html`<fieldset class="channel" aria-describedby="${name}-hint"><legend>${label}</legend>
<p class="hint" id="${name}-hint">${hint}</p>${error !== undefined && html`<p class="error">${error}</p>`}
<div class="radios">${radio("none", "None")}${types.map(([type, { label }]) => radio(type, label))}</div>
${types.map(
  ([type, { hint, fields }]) => html`<div class="of-type ${type}"><p class="hint">${hint}</p>
${fields.map((each) => channelInput(each, { name: inputName(name, type, each.name), filled }))}</div>
`,
)}</fieldset>
`;
}

const masked = "Only its last 4 characters are shown. Leave it to keep the stored value, or type a new one.";

/**
 * A field of a channel. Not marked as required, because the browser would also require the fields of types that are not chosen; the service
 * checks them.
 */
function channelInput(
  { label, hint: about, required, secret }: ChannelField,
  { name, filled }: { name: string; filled: InputState },
): Markup {
  const [value, error] = [filled.form.get(name) ?? "", errorOf(filled, name)];
  const hint = secret && value.startsWith("****") ? `${about} ${masked}` : about;
  if (!required) return lineField({ name, label, hint, value, error, autocomplete: "off" });
  const described = error === undefined ? `${name}-hint` : `${name}-hint ${name}-error`;
  return html`<div class="field"><label for="${name}">${label}</label><p class="hint" id="${name}-hint">${hint}</p>${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}
<input type="text" id="${name}" name="${name}" value="${value}" autocomplete="off" aria-describedby="${described}"${error !== undefined && html` aria-invalid="true"`}></div>
`;
}
