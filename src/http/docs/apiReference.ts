import { html, type Markup } from "#src/html/html.ts";
import { exampleOf, type Schemas } from "../framework/openapi/examples.ts";
import type { Document } from "../framework/openapi/openapi.ts";
import { fieldLine, fieldList, inline } from "./apiFields.ts";
import { renderMarkdown } from "./markdown.ts";

type Json = Record<string, any>;
type Operation = { id: string; method: string; path: string; described: Json };

/** The calls of each noun (`drafts`), in the order of the document. */
export function operationsByTag({ tags, paths }: Document): Map<string, Operation[]> {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(([method, described]) => ({
      ...{ id: described.operationId, method: method.toUpperCase(), path, described },
    })),
  );
  return new Map(tags.map(({ name }) => [name, all.filter(({ described }) => described.tags.includes(name))]));
}

/** The list of all calls, by noun, with links to the pages that describe them. */
export const callList = (document: Document): Markup =>
  html`<h2 id="all-calls">All calls</h2>
<p>The same as a file for tools: <a href="/openapi.json">openapi.json</a>.</p>
${[...operationsByTag(document)].map(
  ([tag, operations]) => html`<h3><a href="/docs/api/${tag}">${tag}</a></h3>
<ul class="calls">${operations.map(
    (operation) =>
      html`<li><a href="/docs/api/${tag}#${operation.id}">${operation.described.summary}</a> ${routeLine(operation)}</li>
`,
  )}</ul>
`,
)}`;

const routeLine = ({ method, path }: Operation): Markup =>
  html`<span class="route"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></span>`;

/** The page of a noun: each call with its parameters, body, answers, samples and a form to try it. */
export function callsPage(tag: string, { paths, tags, components }: Document): Markup {
  const operations = operationsByTag({ paths, tags } as Document).get(tag) ?? [];
  return html`<h1>${tag}</h1>
${operations.map((operation) => callArticle(operation, components.schemas))}`;
}

function callArticle(operation: Operation, schemas: Schemas): Markup {
  const { id, described } = operation;
  const body = described.requestBody?.content;
  return html`<article class="call"><h2 id="${id}">${described.summary}</h2>
<p>${routeLine(operation)}</p>
<div class="columns"><div class="meaning">
${renderMarkdown(described.description ?? "")}
${parameterList(described.parameters ?? [], schemas)}
${
  body &&
  Object.entries(body as Json).map(
    ([type, { schema }]) => html`<h3>Body <small>${type}</small></h3>\n${schema && fieldList(schema, schemas)}`,
  )
}
${answerList(described.responses, schemas)}
</div><div class="samples">
${samplesOf(id, described["x-codeSamples"])}
${tryForm(operation, schemas)}
</div></div></article>
`;
}

function parameterList(parameters: Json[], schemas: Schemas): Markup | false {
  return (
    parameters.length > 0 &&
    html`<h3>Parameters</h3>
<ul class="fields">${parameters.map(
      ({ name, in: where, schema, required, description }) =>
        html`<li>${fieldLine({ name, schema, required, description }, schemas)} <small>(${where})</small></li>\n`,
    )}</ul>`
  );
}

const answerList = (responses: Json, schemas: Schemas): Markup =>
  html`<h3>Answers</h3>
<ul class="fields">${Object.entries(responses).map(([status, { description, content }]) => {
    const [type, answer] = Object.entries((content ?? {}) as Json)[0] ?? [];
    const fields = status < "300" && answer?.schema && fieldList(answer.schema, schemas);
    return html`<li><code>${status}</code> ${inline(description)}${status < "300" && type && html` <small>${type}</small>`}${
      fields && html`<details><summary>Fields</summary>${fields}</details>`
    }</li>\n`;
  })}</ul>`;

/** The first sample is open; opening another closes it, without a script. */
const samplesOf = (id: string, samples: { label: string; source: string }[]): Markup =>
  html`${samples.map(
    ({ label, source }, index) =>
      html`<details class="sample" name="sample-${id}"${index === 0 && html` open`}><summary>${label}</summary><pre tabindex="0"><code>${source}</code></pre></details>\n`,
  )}`;

/** The form to try a call. Hidden until the page's script, which sends the form, has loaded. */
function tryForm({ id, method, path, described }: Operation, schemas: Schemas): Markup {
  const schema = described.requestBody?.content["application/json"]?.schema;
  const fields = (described.parameters as Json[]).map(
    ({ name, in: where, required }) =>
      html`<label>${name} <input name="${where}:${name}"${required && html` required`} autocomplete="off"></label>\n`,
  );
  const key =
    described.security.length > 0 &&
    html`<label>API key <input name="key" type="password" autocomplete="off" placeholder="svc_live_…"></label>\n`;
  return html`<details class="try" hidden><summary>Try it</summary><form data-method="${method}" data-path="${path}">
${key}${fields}${
  schema &&
  html`<label>Body <textarea name="body" rows="8" spellcheck="false">${JSON.stringify(exampleOf(schema, schemas), null, 2)}</textarea></label>\n`
}<button>Send</button>
</form><div class="answer" role="status" id="answer-${id}"></div></details>`;
}
