import { blankSlate } from "#src/html/blankSlate.ts";
import { button, errorAt, field, form, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { allScopes, type KeyScope, scopes } from "../../framework/keys/scopes.ts";
import type { Answers, ListItem } from "../../routes.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";

export type ShownKey = ListItem<"GET /v1/api-keys">;

export const keysPage = (context: PageContext, keys: readonly ShownKey[]): Markup => html`<h1>API keys</h1>
<p>A program uses a key to call the API of this workspace. Only a hash of the key is stored, so it cannot be shown again.</p>
${context.may("write:keys") ? keys.length > 0 && html`<p><a class="button approve" href="/settings/keys/new">Create a key</a></p>` : html`<p class="soft">Only an owner may create and revoke keys.</p>`}
${keys.length === 0 && blankSlate("No keys yet", { text: "An agent needs a key to read conversations and to write drafts.", action: context.may("write:keys") && { path: "/settings/keys/new", label: "Create a key" } })}
${keys.map((key) => keyCard(context, key))}`;

const keyCard = (context: PageContext, key: ShownKey): Markup => html`<section>
<h2><bdi>${key.name}</bdi></h2>
<dl>
<dt>Begins with</dt><dd><code>${key.prefix}</code></dd>
<dt>Rights</dt><dd>${rightsOf(key)}</dd>
<dt>Created</dt><dd>${when(context, key.created_at)}</dd>
<dt>Last used</dt><dd>${key.last_used_at === null ? "never" : when(context, key.last_used_at)}</dd>
</dl>
${context.may("write:keys") && html`<p><a class="press" href="/settings/keys/${key.id}/revoke">Revoke<span class="unseen"> ${key.name}</span></a></p>`}
</section>`;

const isFull = (key: ShownKey): boolean => allScopes.every((scope) => key.scopes.includes(scope));

const rightsOf = (key: ShownKey): Markup | string =>
  isFull(key)
    ? "Full access"
    : html`<details><summary>${key.scopes.length === 1 ? "1 scope" : `${key.scopes.length} scopes`}</summary><ul>${key.scopes.map(
        (scope) => html`<li><code>${scope}</code>: ${scopes[scope]}</li>`,
      )}</ul></details>`;

/** Scopes for an agent that answers mail: it cannot change settings, and so not who approves. */
export const agentScopes: readonly KeyScope[] = [
  "read:threads",
  "write:drafts",
  "write:emails",
  "read:identities",
  "read:events",
];

export const newKeyPage = (
  context: PageContext,
  given: { refused: PageRefusal; name: string; scopes: readonly KeyScope[] | "all" } | undefined,
): Markup => {
  const wanted = given?.scopes;
  const radio = (value: "chosen" | "all", label: string, checked: boolean) =>
    html`<div class="choice"><input type="radio" id="access-${value}" name="access" value="${value}" required${checked && html` checked`}>
<label for="access-${value}">${label}</label></div>`;
  return html`<h1>Create an API key</h1>
${withErrorSummary(
  given?.refused,
  form(
    context,
    { action: "/settings/keys/new" },
    field({
      name: "name",
      label: "Name",
      hint: "The program that will use it, for example “support agent”. Decisions by this key are recorded under this name.",
      value: given?.name,
      error: errorAt(given?.refused, "name"),
      required: true,
      maxlength: 255,
      autocomplete: "off",
    }),
    html`<fieldset><legend>What it may do</legend>
${radio("chosen", "For an agent", Array.isArray(wanted))}
<p class="hint">Reads conversations, writes drafts and sends. It cannot change settings, so it cannot change who approves. You can tick other scopes below.</p>
${radio("all", "Full access", wanted === "all")}
<p class="hint">Everything that the API offers: drafts, sending, approvers, members, billing and other keys.</p>
${given && errorAt(given.refused, "scope") !== undefined && html`<p class="error" id="scope-error">${errorAt(given.refused, "scope")}</p>`}
<fieldset id="scope"><legend>Scopes of an agent's key</legend><ul class="plain">${allScopes.map(
      (
        scope,
      ) => html`<li class="choice"><input type="checkbox" id="scope-${scope}" name="scope" value="${scope}"${(Array.isArray(wanted) ? wanted : agentScopes).includes(scope) && html` checked`}>
<label for="scope-${scope}"><code>${scope}</code> ${scopes[scope]}</label></li>
`,
    )}</ul></fieldset>
</fieldset>
`,
    button("Create the key", { kind: "approve" }),
  ),
)}
<p><a class="press" href="/settings/keys">Back to the keys</a></p>`;
};

/** An example call for a key with this scope. */
const firstCalls: readonly [KeyScope, string][] = [
  ["read:threads", "/v1/threads"],
  ["read:workspace", "/v1/workspaces/me"],
  ["read:identities", "/v1/identities"],
  ["read:domains", "/v1/domains"],
  ["read:events", "/v1/events"],
  ["read:contacts", "/v1/contacts"],
  ["read:rules", "/v1/rules"],
  ["read:keys", "/v1/api-keys"],
];

/** Shows the key itself, once. */
export const createdKeyPage = (created: Answers["POST /v1/api-keys"], publicUrl: string): Markup => {
  const [, path] = firstCalls.find(([scope]) => created.scopes.includes(scope)) ?? [];
  return html`<h1>The new API key</h1>
<div class="card alert"><p><strong>Copy it now.</strong> It is shown only once. If you lose it, revoke it and create another one.</p></div>
<section>
<h2><bdi>${created.name}</bdi></h2>
<p class="copied"><code id="new-key">${created.key}</code> ${copyButton("new-key", "Copy the key")}</p>
</section>
${
  path !== undefined &&
  html`<section>
<h2>Try it</h2>
<pre class="letter" tabindex="0"><code id="new-key-call">curl -H "Authorization: Bearer ${created.key}" ${publicUrl}${path}</code></pre>
<p>${copyButton("new-key-call", "Copy the call")}</p>
</section>`
}
<p><a class="press" href="/settings/keys">All keys</a> <a class="press" href="/docs">API documentation</a></p>`;
};

/** A copy button; only script can use it, and unhides it. */
const copyButton = (id: string, label: string): Markup =>
  html`<button type="button" class="button quiet" data-copy="#${id}" hidden>${label}</button>`;

export const revokePage = (context: PageContext, key: ShownKey): Markup => html`<h1>Revoke this API key?</h1>
<section>
<h2><bdi>${key.name}</bdi></h2>
<dl>
<dt>Begins with</dt><dd><code>${key.prefix}</code></dd>
<dt>Last used</dt><dd>${key.last_used_at === null ? "never" : when(context, key.last_used_at)}</dd>
</dl>
<p>Every request with it will be refused, including requests under way. This cannot be undone.</p>
${form(context, { action: `/settings/keys/${key.id}/revoke` }, button("Revoke the key", { kind: "danger" }))}
</section>
<p><a class="press" href="/settings/keys">Keep it</a></p>`;
