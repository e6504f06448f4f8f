import type { RequestHandler } from "express";
import { html, type Markup, trusted } from "#src/html/html.ts";
import type { Document } from "./openapi.ts";
import { htmlPage } from "./pages.ts";
import { send } from "./send.ts";

type Json = Record<string, any>;

/** /docs: the OpenAPI document as a page that needs no script and no network. */
export function docsPage(document: Document): RequestHandler {
  const page = htmlPage({ title: document.info.title, style, body: String(bodyOf(document)) });
  return (_, response) => send(response, page);
}

function bodyOf(document: Document): Markup {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(([method, operation]) => ({ method, path, operation })),
  );
  return html`<header><h1>${document.info.title}</h1><p>${document.info.description}</p>
<p>Base address <code>${document.servers[0]?.url}</code> · <a href="/openapi.json">openapi.json</a> · version ${document.info.version}</p></header>
<nav aria-label="Contents"><ul>${document.tags.map(({ name }) => html`<li><a href="#${name}">${name}</a></li>`)}<li><a href="#schemas">schemas</a></li></ul></nav>
<main>
${document.tags.map(
  ({ name }) => html`<section id="${name}"><h2>${name}</h2>
${operations.filter(({ operation }) => operation.tags.includes(name)).map(operationOf)}</section>`,
)}
<section id="schemas"><h2>schemas</h2>
${Object.entries(document.components.schemas as Json).map(([name, schema]) => html`<details id="schema-${name}"><summary>${name}</summary>${schemaOf(schema)}</details>`)}
</section></main>`;
}

const operationOf = ({ method, path, operation }: { method: string; path: string; operation: Json }): Markup =>
  html`<details id="${operation.operationId}"><summary><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code> <span class="what">${operation.summary}</span></summary>
${(operation.description as string).split("\n\n").map((paragraph) => html`<p>${paragraph.replaceAll("`", "")}</p>`)}
${operation.parameters.length > 0 && html`<h3>Parameters</h3><table><tbody>${operation.parameters.map(parameterOf)}</tbody></table>`}
${operation.requestBody && html`<h3>Body</h3>${schemaOf(operation.requestBody.content["application/json"].schema)}`}
<h3>Answers</h3><table><tbody>${Object.entries(operation.responses as Json).map(answerOf)}</tbody></table></details>`;

const parameterOf = ({ name, in: place, required, schema, description }: Json): Markup =>
  html`<tr><th scope="row"><code>${name}</code></th><td>${place}${required && ", required"}</td><td>${typeOf(schema)} ${description}</td></tr>`;

const answerOf = ([status, { description, content }]: [string, Json]): Markup =>
  html`<tr><th scope="row">${status}</th><td>${description.replaceAll("`", "")}</td><td>${content?.["application/json"]?.schema && typeOf(content["application/json"].schema)}</td></tr>`;

function schemaOf(schema: Json): Markup {
  if (!schema.properties) return html`<p>${typeOf(schema)} ${schema.description}</p>`;
  const required = new Set<string>(schema.required);
  const rows = Object.entries(schema.properties as Json).map(
    ([name, property]) =>
      html`<tr><th scope="row"><code>${name}</code></th><td>${required.has(name) ? "required" : ""}</td><td>${typeOf(property)} ${property.description}</td></tr>`,
  );
  return html`${schema.description && html`<p>${schema.description}</p>`}<table><tbody>${rows}</tbody></table>`;
}

function typeOf(schema: Json): Markup {
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  const branches: Json[] | undefined = schema.anyOf ?? schema.oneOf;
  if (branches) return html`${branches.map((branch, index) => html`${index > 0 && " or "}${typeOf(branch)}`)}`;
  if (schema.enum)
    return html`${schema.enum.join(" · ")}${schema.default !== undefined && ` (default ${schema.default})`}`;
  if ("const" in schema) return html`${JSON.stringify(schema.const)}`;
  if (schema.type === "array")
    return html`array of ${typeOf(schema.items ?? {})}${schema.maxItems !== undefined && `, at most ${schema.maxItems}`}`;
  if (schema.type === "object" && schema.properties)
    return html`{${Object.entries(schema.properties as Json).map(([name, each], index) => html`${index > 0 && ", "}${name}: ${typeOf(each)}`)}}`;
  return html`${schema.format ?? schema.type ?? "any"}${boundsOf(schema)}`;
}

const boundsOf = ({ minimum, maximum, default: preset, ...own }: Json): string =>
  [
    minimum !== undefined && ` ≥ ${minimum}`,
    maximum !== undefined && ` ≤ ${maximum}`,
    own["x-max-bytes"] !== undefined && ` ≤ ${own["x-max-bytes"]} bytes`,
    own["x-max-json-bytes"] !== undefined && ` ≤ ${own["x-max-json-bytes"]} bytes of JSON`,
    preset !== undefined && ` (default ${preset})`,
  ]
    .filter(Boolean)
    .join("");

const style = String(
  trusted(`
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 65%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.5rem; }
h1 { margin: 0 0 .25rem; } h2 { margin: 2.5rem 0 .75rem; border-bottom: 1px solid var(--line); } h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; padding: 0; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: .5rem .75rem; }
summary { cursor: pointer; overflow-wrap: anywhere; } .what { color: var(--soft); }
.method { display: inline-block; min-width: 4.2rem; font-weight: 700; } .get { color: #1a7f4b; } .post { color: #1f6fd1; } .patch { color: #a86400; } .delete { color: #c0362c; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; font-weight: 400; } th { white-space: nowrap; }
code { font-family: ui-monospace, monospace; font-size: .925em; }
`),
);
