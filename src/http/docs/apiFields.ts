import { html, type Markup } from "#src/html/html.ts";
import type { Schemas } from "../framework/openapi/examples.ts";

type Json = Record<string, any>;

/** Levels of nested objects that a list of fields shows. Deeper ones, and objects within themselves, are named by their type only. */
const deepest = 5;

/** Lists the fields of a schema, with those of nested objects below them; without fields, names its type. */
export function fieldList(schema: Json, schemas: Schemas): Markup {
  return objectsOf(schema, schemas, 0).length === 0
    ? html`<p class="type">${typeOf(schema, schemas)}</p>`
    : fieldsOf(schema, schemas, 0);
}

function fieldsOf(schema: Json, schemas: Schemas, depth: number): Markup {
  return html`${objectsOf(schema, schemas, depth).map(
    ({ properties, required = [] }) => html`<ul class="fields">${Object.entries(properties as Json).map(
      ([name, field]) => html`<li>${fieldLine({ name, schema: field, required: required.includes(name) }, schemas)}
${nestedFields(field, schemas, depth + 1)}</li>
`,
    )}</ul>
`,
  )}`;
}

function nestedFields(schema: Json, schemas: Schemas, depth: number): Markup | false {
  const nested = depth < deepest && objectsOf(schema, schemas, depth).length > 0;
  return nested && html`<details><summary>Fields</summary>${fieldsOf(schema, schemas, depth)}</details>`;
}

type NamedField = { name: string; schema: Json; required: boolean; description?: string };

/** Name, type and meaning of a field or parameter. */
export function fieldLine({ name, schema, required, description }: NamedField, schemas: Schemas): Markup {
  const says = description ?? schema.description;
  return html`<code>${name}</code> <span class="type">${typeOf(schema, schemas)}${limitsOf(schema)}${required && html`, <strong>required</strong>`}</span>${
    says && html`<br>${inline(says)}`
  }`;
}

/** Text in which what is between backticks is code. */
export const inline = (text: string): Markup =>
  html`${text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;

const resolved = (schema: Json, schemas: Schemas): Json =>
  schema.$ref ? resolved(schemas[schema.$ref.split("/").at(-1)] ?? {}, schemas) : schema;

/** The object schemas with fields that a value may have: the schema itself, its items, or its alternatives. */
function objectsOf(schema: Json, schemas: Schemas, depth: number): Json[] {
  if (depth > deepest) return [];
  const own = resolved(schema, schemas);
  if (own.properties) return [own];
  if (own.items) return objectsOf(own.items, schemas, depth);
  return (own.anyOf ?? own.oneOf ?? []).flatMap((each: Json) => objectsOf(each, schemas, depth + 1));
}

function typeOf(schema: Json, schemas: Schemas): string {
  const { type, enum: values, const: only, items, anyOf, oneOf, format } = resolved(schema, schemas);
  if (values) return values.map((each: unknown) => JSON.stringify(each)).join(" | ");
  if (only !== undefined) return JSON.stringify(only);
  if (items) return `list of ${typeOf(items, schemas)}`;
  const either: Json[] | undefined = anyOf ?? oneOf;
  if (either) return [...new Set(either.map((each) => typeOf(each, schemas)))].join(" or ");
  return format ?? type ?? "any value";
}

/** The limits of a value that its schema names, in words. */
function limitsOf({ minimum, maximum, maxLength, maxItems, default: standard, "x-max-bytes": bytes }: Json): string {
  const limits = [
    minimum !== undefined && `from ${minimum}`,
    maximum !== undefined && `to ${maximum}`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    bytes !== undefined && `at most ${bytes} bytes`,
    maxItems !== undefined && `at most ${maxItems}`,
    standard !== undefined && `default ${JSON.stringify(standard)}`,
  ];
  return limits
    .filter((each) => each !== false)
    .map((each) => `, ${each}`)
    .join("");
}
