import { randomUUID } from "node:crypto";
import { button, errorSummary, form } from "#src/html/forms.ts";
import { html, type Markup, type MarkupValue } from "#src/html/html.ts";
import { type ConsoleAnswer, shown } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { type FormPart, fieldNamed } from "./fields.ts";
import { foldedFields, openFieldsOf } from "./folds.ts";
import { inputOf } from "./formFields.ts";
import { inPageWords } from "./identityWords.ts";
import { baseOf, errorPlace, filledIn } from "./readForm.ts";
import type { IdentityAnswer, WorkspaceContext } from "./workspaceContext.ts";

/** A form that is shown again: its values, and why it was refused. */
export type RefusedForm = {
  form: URLSearchParams;
  refused?: PageRefusal | undefined;
  /** Fields that another person changed meanwhile. */
  conflicts?: readonly string[];
};

/** The page to create an identity. */
export function newPage(
  context: PageContext,
  again: RefusedForm,
  { domains, assistants }: WorkspaceContext,
): ConsoleAnswer {
  const error = errorPlace(again.form, again.refused);
  const filled = { form: again.form, error, domains, assistants };
  const inputsIn = (part: FormPart) =>
    openFieldsOf("new")
      .filter(({ whenNew, part: own }) => (whenNew ?? own) === part)
      .map((field) => inputOf(field, filled));
  const usable = domains.filter(({ status }) => status === "verified");
  const main = html`<h1>Create an identity</h1>
${refusalOf(again)}
${usable.length === 0 ? html`<p class="card alert">There is no verified domain yet. <a href="/domains">Add a domain</a> first, and its DNS records.</p>` : false}
${form(
  context,
  { action: "/identities/new", once: again.form.get("once") ?? randomUUID() },
  section("1. The address", inputsIn("mail")),
  section("2. Who approves", inputsIn("approval")),
  section(
    "3. The rest",
    html`<p class="hint">All of this has a default, and most of it can be changed later.</p>${foldedFields("new", filled)}`,
  ),
  buttons("Create the identity", "/identities"),
)}`;
  return shown({ title: "Create an identity", main, status: again.refused?.status ?? 200 });
}

/** The form of one part of an identity. It contains its original values, so that changes can be detected later. */
export function partForm(
  context: PageContext,
  {
    identity,
    part,
    action,
    again,
  }: { identity: IdentityAnswer; part: FormPart; action: string; again: RefusedForm | undefined },
  { domains, assistants }: WorkspaceContext,
): Markup {
  const values = again?.form ?? filledIn(identity, part);
  const filled = { form: values, error: errorPlace(values, again?.refused), domains, assistants };
  return form(
    context,
    { action },
    html`<input type="hidden" name="base" value="${JSON.stringify(baseOf(identity, part))}">`,
    openFieldsOf(part).map((field) => inputOf(field, filled)),
    foldedFields(part, filled, again?.conflicts),
    html`<div class="buttons">${button("Save", { kind: "approve" })}${part === "mail" && button("Preview the signature", { name: "do", value: "preview" })}${part === "approval" && html`<a class="press" href="/identities/${identity.id}">Back without saving</a>`}</div>`,
  );
}

/** Explains above a form why it was refused: the wrong field, or the fields that another person has changed. */
export function refusalOf({ form: values, refused, conflicts = [] }: RefusedForm): Markup | undefined {
  if (conflicts.length > 0) {
    return html`<div class="card alert" role="alert" id="error"><p><strong>Nothing was saved.</strong> Another member changed this identity while you were editing:</p>
<ul>${conflicts.map((name) => html`<li><a href="#${inputNamed(name)}">${fieldNamed(name)?.label ?? name}</a></li>`)}</ul>
<p>The form shows what you typed. Save again to overwrite their changes, or <a href="">load the page again</a> to see their changes.</p></div>
`;
  }
  const place = errorPlace(values, refused);
  if (!refused) return undefined;
  if (!place) return errorSummary({ message: inPageWords(refused.message) });
  return html`<div class="card alert" role="alert" id="error"><p><strong>That did not work.</strong> <a href="#${place.input}">${place.label}</a> has to be corrected.</p></div>
`;
}

const inputNamed = (name: string): string => (fieldNamed(name)?.kind === "channel" ? `${name}.type` : name);

const section = (title: string, content: MarkupValue): Markup =>
  html`<section><h2>${title}</h2>${content}</section>
`;

const buttons = (label: string, back: string): Markup =>
  html`<div class="buttons">${button(label, { kind: "approve" })}<a class="press" href="${back}">Cancel</a></div>`;

/** Merges a form with another person's change: typed values for the fields that this person touched, stored values for the rest. */
export function mergedForm(
  identity: IdentityAnswer,
  part: FormPart,
  { typed, touched }: { typed: URLSearchParams; touched: readonly string[] },
) {
  const merged = filledIn(identity, part);
  for (const [name] of typed) {
    const field = name.split(".", 1)[0] ?? "";
    if (!touched.includes(field)) continue;
    merged.delete(name);
    for (const value of typed.getAll(name)) merged.append(name, value);
  }
  return merged;
}
