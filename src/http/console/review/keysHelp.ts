import { html, type Markup } from "#src/html/html.ts";

const keys: readonly (readonly [string, string])[] = [
  ["j", "the next draft"],
  ["k", "the draft before"],
  ["a", "go to the button that approves: Enter presses it"],
  ["r", "go to the reason of a rejection"],
  ["e", "edit and approve"],
  ["?", "show these keys"],
];

/** List of keyboard shortcuts and the switch to turn them off; shown only if the script runs that handles them. */
export const keysHelp = (): Markup => html`<details id="keys" class="keys" data-keys hidden><summary>Keys</summary>
<dl>${keys.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl>
<p><button type="button" class="button plain" data-keys-switch aria-pressed="true">Keys are on: turn them off</button></p>
<p class="meta">Keys do nothing while you type. No key approves or rejects by itself.</p>
</details>`;
