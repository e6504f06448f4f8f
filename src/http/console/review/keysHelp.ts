import { html, type Markup } from "#src/html/html.ts";

const keys: readonly (readonly [string, string])[] = [
  ["j", "the next draft, without a decision"],
  ["k", "the previous draft"],
  ["a", "approve; if there is a warning or several approvals are required, Enter confirms it"],
  ["e", "edit"],
  ["c", "ask for changes: go to the text"],
  ["r", "reject: go to the reason"],
  ["?", "show these shortcuts"],
];

/** List of keyboard shortcuts and the switch to turn them off; shown only if the script runs that handles them. */
export const keysHelp = (): Markup => html`<details id="keys" class="keys" data-keys hidden><summary>Keys</summary>
<dl>${keys.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl>
<p><button type="button" class="button plain" data-keys-switch aria-pressed="true">Turn shortcuts off</button></p>
<p class="meta">Shortcuts do nothing while you type, and decide only about the draft that is shown.</p>
</details>`;
