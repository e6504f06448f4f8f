import type { NextOnList } from "#src/channels/approvalList.ts";
import { html, type Markup } from "#src/html/html.ts";

/** Offers of an outcome page. `undoNonce`: set if the link's own approval can be undone. `list`: the list that the draft was opened from. */
export type WayOn = {
  undoNonce?: string | undefined;
  list?: { token: string; next: NextOnList } | undefined;
};

/** The undo of the link's own approval, and the way to the next draft that its holder was asked about. */
export const wayOnSection = ({
  undoNonce,
  list,
}: WayOn): Markup => html`${undoNonce !== undefined && undoForm(undoNonce)}
<section aria-labelledby="next"><h2 id="next">Other drafts</h2>${list ? ofList(list) : elsewhere}</section>`;

// Without an action attribute the form posts to its own URL, under any base path.
const undoForm = (nonce: string): Markup => html`<form method="post">
<input type="hidden" name="nonce" value="${nonce}">
<button name="decision" value="undo">Undo the approval</button>
</form>`;

// The links are relative, so that they work under any base path.
const ofList = ({ token, next }: { token: string; next: NextOnList }): Markup =>
  html`<p>${next.token === null ? "No other draft on your list waits for you." : html`<a class="press" href="${next.token}?d=approve&amp;list=${token}">Next draft on your list</a>`}</p>
<p><a class="press" href="../l/${token}">Back to the list</a></p>`;

/** No link to another draft: the service stores only hashes of links, so nobody but the reader's mailbox has them. */
const elsewhere = html`<p>Each other draft that waits for you has its own mail. Members of the workspace find them all in the console.</p>
<p><a class="press" href="/review">Open the review queue</a></p>`;
