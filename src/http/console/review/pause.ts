import { button, field, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { PageContext } from "../framework/pageContext.ts";

/** The pause of a workspace's sending: since when, by whom and why, as far as known. `reason` was typed by a person. */
export type Pause = { paused: boolean; by: string | null; at: string | null; reason: string | null };

/** The pause of a workspace, from its API or read model fields. */
export const pauseIn = (workspace: {
  sending_paused: boolean;
  sending_paused_reason: string | null;
  sending_paused_by: { id: string; name?: string } | null;
  sending_paused_at: string | Date | null;
}): Pause => ({
  paused: workspace.sending_paused,
  by: workspace.sending_paused_by && (workspace.sending_paused_by.name ?? workspace.sending_paused_by.id),
  at: workspace.sending_paused_at && new Date(workspace.sending_paused_at).toISOString(),
  reason: workspace.sending_paused_reason,
});

/** The switch that pauses all sending: everyone sees its state, and people with the right can use it. `back`: the page to return to. */
export const pauseSwitch = (context: PageContext, pause: Pause, back: "/review" | "/settings/workspace"): Markup =>
  pause.paused ? paused(context, pause, back) : sending(context, back);

const paused = (
  context: PageContext,
  { by, at, reason }: Pause,
  back: string,
): Markup => html`<section id="pause" class="pause warnings" aria-labelledby="pause-title">
<h2 id="pause-title">Sending is paused</h2>
<p>${by !== null ? html`<bdi>${shortLine(by, 100)}</bdi> paused it` : "It was paused"}${at !== null && html`, ${when(context, at)}`}.${
  reason !== null && reason !== "" && html` Why: <span dir="auto" lang="">${reason}</span>`
}</p>
<p>Nothing is sent. Drafts that you approve wait, and are sent when sending is resumed, unless a newer message arrives first.</p>
${context.may("write:workspace") && form(context, { action: "/review/resume" }, html`<input type="hidden" name="back" value="${back}">`, button("Resume sending", { kind: "approve" }))}
</section>`;

const sending = (context: PageContext, back: string): Markup =>
  context.may("write:workspace")
    ? html`<details id="pause" class="pause"><summary>Pause all sending</summary>
${form(
  context,
  { action: "/review/pause" },
  html`<input type="hidden" name="back" value="${back}">`,
  field({ name: "pause_reason", label: "Why", hint: "All members of this workspace see it.", maxlength: 200 }),
  button("Pause all sending", { kind: "danger" }),
)}</details>`
    : html`<div id="pause" hidden></div>`;
