import { randomUUID } from "node:crypto";
import { button, errorSummary, form } from "#src/html/forms.ts";
import { html, type Markup, type Value } from "#src/html/html.ts";
import { type ConsoleAnswer, shown } from "../framework/page.ts";
import type { Refused, Visit } from "../framework/visit.ts";
import type { Identity, Surroundings } from "./around.ts";
import { fieldNamed, fieldsOf, type Part } from "./fields.ts";
import { inputOf } from "./formFields.ts";
import { baseOf, errorPlace, filledIn } from "./readForm.ts";
import { inPageWords } from "./words.ts";

/** A form as it is shown again: what was typed, and why it was not taken. */
export type Again = {
  form: URLSearchParams;
  refused?: Refused | undefined;
  /** The fields that somebody else changed meanwhile. */
  conflicts?: readonly string[];
};

/** The page on which an identity is made. */
export function newPage(visit: Visit, again: Again, { domains, assistants }: Surroundings): ConsoleAnswer {
  const error = errorPlace(again.form, again.refused);
  const filled = { form: again.form, error, domains, assistants };
  const fieldsIn = (part: Part) => fieldsOf("new").filter(({ whenNew, part: own }) => (whenNew ?? own) === part);
  const usable = domains.filter(({ status }) => status === "verified");
  const main = html`<h1>Create an identity</h1>
${refusalOf(again)}
${usable.length === 0 ? html`<p class="card alert">There is no verified domain yet. <a href="/domains">Add a domain</a> first, and its DNS records.</p>` : false}
${form(
  visit,
  { action: "/identities/new", once: again.form.get("once") ?? randomUUID() },
  section(
    "The address",
    fieldsIn("mail").map((field) => inputOf(field, filled)),
  ),
  section(
    "Who approves",
    fieldsIn("approval").map((field) => inputOf(field, filled)),
  ),
  buttons("Create the identity", "/identities"),
)}`;
  return shown({ title: "Create an identity", main, status: again.refused?.status ?? 200 });
}

/** The form of one part of an identity. It carries what it said before anybody touched it. */
export function partForm(
  visit: Visit,
  { identity, part, action, again }: { identity: Identity; part: Part; action: string; again: Again | undefined },
  { domains, assistants }: Surroundings,
): Markup {
  const values = again?.form ?? filledIn(identity, part);
  const filled = { form: values, error: errorPlace(values, again?.refused), domains, assistants };
  return form(
    visit,
    { action },
    html`<input type="hidden" name="base" value="${JSON.stringify(baseOf(identity, part))}">`,
    fieldsOf(part).map((field) => inputOf(field, filled)),
    html`<div class="buttons">${button("Save", { kind: "approve" })}${part === "mail" && button("Preview the signature", { name: "do", value: "preview" })}${part === "approval" && html`<a class="press" href="/identities/${identity.id}">Back without saving</a>`}</div>`,
  );
}

/** Why a form was not taken, above it: at which field, or which fields somebody else has changed. */
export function refusalOf({ form: values, refused, conflicts = [] }: Again): Markup | undefined {
  if (conflicts.length > 0) {
    return html`<div class="card alert" role="alert" id="error"><p><strong>Nothing was saved.</strong> Somebody else changed this identity while you were editing:</p>
<ul>${conflicts.map((name) => html`<li><a href="#${inputNamed(name)}">${fieldNamed(name)?.label ?? name}</a></li>`)}</ul>
<p>The form shows what you typed. Save again to put it in the place of theirs, or <a href="">load the page again</a> to see theirs.</p></div>
`;
  }
  const place = errorPlace(values, refused);
  if (!refused) return undefined;
  if (!place) return errorSummary({ message: inPageWords(refused.message) });
  return errorSummary({ message: `${place.label}: ${place.sentence}`, field: place.input });
}

const inputNamed = (name: string): string => (fieldNamed(name)?.kind === "channel" ? `${name}.type` : name);

const section = (title: string, content: Value): Markup =>
  html`<section><h2>${title}</h2>${content}</section>
`;

const buttons = (label: string, back: string): Markup =>
  html`<div class="buttons">${button(label, { kind: "approve" })}<a class="press" href="${back}">Cancel</a></div>`;

/** What was typed where it was touched, and what is stored now elsewhere: the form after somebody else's change. */
export function mergedForm(
  identity: Identity,
  part: Part,
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
