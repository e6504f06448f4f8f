import type { CardedView } from "#src/channels/approvalDecisions.ts";
import type { RecordedOutcome } from "#src/channels/approvalView.ts";
import { html } from "#src/html/html.ts";
import { outcomePage, recordedCard, shownDraft } from "./outcomePages.ts";
import type { WayOn } from "./wayOn.ts";

/** Shown after the link's own approval was undone. */
export const undonePage = (view: CardedView, offers: WayOn): string =>
  outcomePage({
    tone: "wait",
    title: "Your approval is undone",
    sentences: [
      "It does not count any more, and nothing is sent by it.",
      html`<a class="press" href="?">Open the page again</a> to see the draft and decide.`,
    ],
    offers,
    more: shownDraft(view),
  });

/** Shown if the undo button was pressed too late. */
export const tooLatePage = (view: CardedView, decided: RecordedOutcome): string =>
  outcomePage({
    tone: "bad",
    title: "The approval could not be undone",
    sentences: [
      "The time to undo it is over, or it is not an approval by this link.",
      html`<a class="press" href="?">Open the page again</a> to see the current state.`,
    ],
    more: recordedCard(view, decided),
  });

/** Shown if an undo did not come from this link's page, or the page was open for more than an hour. */
export const notUndonePage = (): string =>
  outcomePage({
    tone: "wait",
    title: "Nothing was undone",
    sentences: [
      html`The button press did not come from this page. <a class="press" href="?">Open the page again</a> to see the current state.`,
    ],
  });
