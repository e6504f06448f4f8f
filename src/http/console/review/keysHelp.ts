import { html, type Markup } from "#src/html/html.ts";

const keys: readonly (readonly [string, string])[] = [
  ["j", "the next draft"],
  ["k", "the previous draft"],
  ["a", "go to the Approve button, then press Enter to approve"],
  ["r", "go to the reason for rejecting"],
  ["e", "edit and approve"],
  ["?", "show these shortcuts"],
];

/** List of keyboard shortcuts and the switch to turn them off; shown only if the script runs that handles them. */
export const keysHelp = (): Markup => html`<details id="keys" class="keys" data-keys hidden><summary>Keys</summary>
<dl>${keys.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl>
<p><button type="button" class="button plain" data-keys-switch aria-pressed="true">Turn shortcuts off</button></p>
<p class="meta">Shortcuts do nothing while you type. No shortcut approves or rejects directly.</p>
</details>`;
