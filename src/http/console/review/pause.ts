import { button, field, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { Visit } from "../framework/visit.ts";

/** Whether a workspace sends, and if not: since when, by whom and why, as far as that is known. `reason` is somebody's words. */
export type Pause = { paused: boolean; by: string | null; at: string | null; reason: string | null };

/**
 * The large switch for all that leaves: its state for everybody, the switch for those who may turn it. `back`: the page to come back to.
 */
export const pauseSwitch = (visit: Visit, pause: Pause, back: "/review" | "/settings"): Markup =>
  pause.paused ? paused(visit, pause, back) : sending(visit, back);

const paused = (
  visit: Visit,
  { by, at, reason }: Pause,
  back: string,
): Markup => html`<section id="pause" class="pause warnings" aria-labelledby="pause-title">
<h2 id="pause-title">Sending is paused</h2>
<p>${by !== null ? html`<bdi>${shortLine(by, 100)}</bdi> paused it` : "It was paused"}${at !== null && html`, ${when(visit, at)}`}.${
  reason !== null && reason !== "" && html` Why: <span dir="auto" lang="">${reason}</span>`
}</p>
<p>Nothing leaves. What you approve waits, and leaves when sending is resumed, unless a newer message arrives first.</p>
${visit.may("write:workspace") && form(visit, { action: "/review/resume" }, html`<input type="hidden" name="back" value="${back}">`, button("Resume sending", { kind: "approve" }))}
</section>`;

const sending = (visit: Visit, back: string): Markup =>
  visit.may("write:workspace")
    ? html`<details id="pause" class="pause"><summary>Pause all sending</summary>
${form(
  visit,
  { action: "/review/pause" },
  html`<input type="hidden" name="back" value="${back}">`,
  field({ name: "pause_reason", label: "Why", hint: "Everybody in this workspace sees it.", maxlength: 200 }),
  button("Pause all sending", { kind: "danger" }),
)}</details>`
    : html`<div id="pause" hidden></div>`;
