import type { HeldRow } from "#projections/messages/queries.ts";
import { named } from "#src/channels/card/names.ts";
import { button, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { WireDraft } from "../../present/drafts.ts";
import { person, type ThreadReader } from "./threadWords.ts";

/** A draft's status in words. Drafts that became messages are shown as messages, with their delivery status. */
const draftWords: Record<WireDraft["status"], string> = {
  pending: "Waits for a decision",
  approved: "Approved, not sent",
  rejected: "Rejected",
  sending: "On its way",
  sent: "Sent",
  stale: "Stale: a newer message arrived before it was sent",
  failed: "Not sent",
};

export type DraftReader = ThreadReader & { formToken: string; userId: string };

/** A draft between the messages of a conversation; details are on its own page. */
export function draftArticle(draft: WireDraft, reader: DraftReader): Markup {
  const { id, status, reason, decided_by, newer_message_id, body_text, subject, created_at, undo_until } = draft;
  const isOutdated = newer_message_id !== null && (status === "pending" || status === "approved");
  return html`<li class="draft ${status}" id="draft-${id}"><h3>Draft <span class="time">${when(reader, created_at)}</span></h3>
<p><strong>${undo_until !== null && status === "approved" ? "Approved, about to be sent" : draftWords[status]}</strong>${decided_by?.name && html` by ${named(decided_by.name, 60)}`}${reason && html`: ${named(reason, 300)}`}${isOutdated && html`. A newer message has arrived since, so it cannot be sent`}.</p>
<p class="line"><bdi lang="">${shortLine(body_text ?? subject, 200)}</bdi></p>
${undoForm(draft, reader)}
<p><a class="press" href="/drafts/${id}">Open this draft</a></p></li>
`;
}

/** The form to undo an approval: shown to the person who approved, in the few seconds before the draft is sent. */
const undoForm = ({ id, thread_id, undo_until, decided_by }: WireDraft, reader: DraftReader): Markup | false =>
  undo_until !== null &&
  decided_by?.id === reader.userId &&
  form(
    reader,
    { action: `/threads/${thread_id}/undo` },
    html`<p>It will be sent within seconds.</p><input type="hidden" name="draft_id" value="${id}">`,
    button("Undo"),
  );

/** A held message, whose content may not be shown yet. */
export const heldArticle = ({ id, from_name, from_email, received_at }: HeldRow, reader: ThreadReader): Markup =>
  html`<li class="held" id="message-${id}"><h3>Held: a message from ${person(from_name, from_email)} <span class="time">${when(reader, received_at.toISOString())}</span></h3>
<p>It is stored, and is shown here once it is released. Until then nothing is sent in this conversation.</p></li>
`;
