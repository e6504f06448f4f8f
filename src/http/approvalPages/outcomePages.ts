import type { CardedView, HeldBy } from "#src/channels/approvalDecisions.ts";
import {
  type ApprovalsSoFar,
  mayReopen,
  type NewerMessage,
  type RecordedOutcome,
  type RequestedChanges,
} from "#src/channels/approvalView.ts";
import { approvalsInWords } from "#src/channels/card/approvalsSoFar.ts";
import { writerOf } from "#src/channels/card/names.ts";
import { messageSaid } from "#src/channels/card/reviewCard.ts";
import { html, type Markup } from "#src/html/html.ts";
import { page } from "#src/html/page.ts";
import { readableTime } from "#src/html/times.ts";
import { visibleLine } from "#src/html/visible.ts";
import type { LinkClosure } from "#streams/draft/events.ts";
import { letterSection, newerSection } from "./draftSections.ts";
import { type WayOn, wayOnSection } from "./wayOn.ts";

type Outcome = {
  tone: "good" | "bad" | "wait" | "plain";
  title: string;
  sentences: (string | Markup)[];
  more?: Markup | null | false;
  offers?: WayOn | undefined;
};

/** Shown after an approval that completes the quorum. */
export function approvedPage(
  { sending, note, undoUntil }: { sending: boolean; note?: HeldBy; undoUntil?: string },
  view: CardedView,
  offers: WayOn,
): string {
  if (note) return outcomePage({ ...held[note], offers, more: shownDraft(view) });
  const to = view.content.to.map(visibleLine).join(", ");
  const outcome = undoUntil
    ? {
        title: "Approved",
        said: `It goes to ${to} in a few seconds, unless you undo the approval before. You can close this page.`,
      }
    : sending
      ? { title: "Approved and on its way", said: `It goes to ${to}. You can close this page.` }
      : { title: "Approved", said: "It has not been sent yet: the agent can send it now. You can close this page." };
  return outcomePage({ tone: "good", title: outcome.title, sentences: [outcome.said], offers, more: shownDraft(view) });
}

const held: Record<HeldBy, Outcome> = {
  sending_paused: {
    tone: "wait",
    title: "Approved, and waiting",
    sentences: [
      "Sending is paused at the moment. The mail is sent automatically when the pause ends, unless a newer message arrives first.",
    ],
  },
  plan_limit_reached: {
    tone: "wait",
    title: "Approved, but not sent",
    sentences: [
      "The workspace has reached its plan's limit for outgoing mail. Your approval is recorded. The agent can send the mail when the plan allows it again.",
    ],
  },
  identity_disabled: {
    tone: "wait",
    title: "Approved, but not sent",
    sentences: [
      "The sending address is disabled. Your approval is recorded. The agent can send the mail when the address is enabled again.",
    ],
  },
};

/** Shown after an approval, if others must approve too. */
export const countedPage = (
  { approvals, again }: { approvals: ApprovalsSoFar; again: boolean },
  view: CardedView,
  offers: WayOn,
): string =>
  outcomePage({
    tone: "wait",
    title: again
      ? "You have already approved this version"
      : "Your approval counts; other approvers have to approve too",
    sentences: [
      approvalsInWords(approvals),
      again
        ? "Nothing changed. You can still reject the draft with the link in your mail."
        : "Nothing is sent until the other approvers have approved it. You can close this page.",
    ],
    offers,
    more: shownDraft(view),
  });

/** Shown after a rejection. */
export const rejectedPage = (view: CardedView, offers: WayOn): string =>
  outcomePage({
    tone: "bad",
    title: "Rejected",
    sentences: ["It will not be sent, and the agent is informed. You can close this page."],
    offers,
    more: shownDraft(view),
  });

/** Shown while the draft waits for changes. `isOwn`: this press asked for them. */
export const changesRequestedPage = (
  view: CardedView,
  { by, at, text }: RequestedChanges,
  { isOwn, offers }: { isOwn: boolean; offers?: WayOn } = { isOwn: false },
): string =>
  outcomePage({
    tone: "wait",
    title: isOwn ? "The agent is asked for changes" : "Changes are requested",
    sentences: [
      html`<bdi>${visibleLine(by)}</bdi>, <time datetime="${at}">${readableTime(at)}</time>: <span dir="auto" lang="">${text}</span>`,
      `Nobody can approve this version meanwhile. You will be asked about the agent's next version.${isOwn ? " You can close this page." : " Opening this page decided nothing."}`,
    ],
    offers,
    more: shownDraft(view),
  });

/** Shown if the customer wrote again before the decision. */
export const stalePage = (newer: NewerMessage | null, view: CardedView): string =>
  outcomePage({ ...staleOutcome(view), more: html`${newer && newerSection(messageSaid(newer))}${shownDraft(view)}` });

/** Shown for a draft that was decided already. `offers`: absent if the link may not show the draft's content any more. */
export function recordedPage(view: CardedView, decided: RecordedOutcome, offers?: WayOn): string {
  const more =
    offers !== undefined &&
    html`${decided.decision === "stale" && view.newerMessage && newerSection(messageSaid(view.newerMessage))}${shownDraft(view)}`;
  return outcomePage({ ...recordedOutcome(view, decided), offers, more });
}

const recordedOutcome = (view: CardedView, decided: RecordedOutcome): Outcome =>
  decided.decision === "stale"
    ? staleOutcome(view)
    : { ...recorded[decided.decision], sentences: recordedSentences(decided) };

export const recordedCard = (view: CardedView, decided: RecordedOutcome): Markup => {
  const outcome = recordedOutcome(view, decided);
  return outcomeCard(outcome, html`<h2>${outcome.title}</h2>`);
};

const recorded: Record<Exclude<RecordedOutcome["decision"], "stale">, Pick<Outcome, "tone" | "title">> = {
  approved: { tone: "good", title: "Already approved" },
  sending: { tone: "good", title: "Already approved and on its way" },
  sent: { tone: "good", title: "Already approved and sent" },
  rejected: { tone: "bad", title: "Already rejected" },
  failed: { tone: "bad", title: "Approved, but it could not be delivered" },
};

function recordedSentences({ decision, by, at, reason, undoable }: RecordedOutcome): (string | Markup)[] {
  const who = by ? html`By <bdi>${visibleLine(by)}</bdi>, ` : "";
  const when = html`<time datetime="${at}">${readableTime(at)}</time>.`;
  const why = reason
    ? [html`${decision === "failed" ? "What happened" : "Reason"}: <span dir="auto" lang="">${reason}</span>`]
    : [];
  return [html`${who}${when}`, ...why, ...(undoable ? [mayReopen] : []), "Opening this page decided nothing."];
}

const staleOutcome = (view: CardedView): Outcome => ({
  tone: "wait",
  title: "Not sent: a newer message arrived",
  sentences: [
    html`<bdi>${view.answers ? writerOf(view.answers) : "The recipient"}</bdi> wrote again after the message this ${view.answers ? "reply answers" : "mail is about"}, so it was stopped. The agent is informed and can write a new one. You will then be asked again.`,
  ],
});

export const changedPage = (): string =>
  outcomePage({
    tone: "wait",
    title: "This draft changed: review the new version",
    sentences: ["Nothing was decided. A newer mail in your inbox has the links to the new version."],
  });

/** Shown after a press by a link that expired meanwhile. */
export const expiredNowPage = (): string =>
  outcomePage({
    tone: "plain",
    title: "This link has expired",
    sentences: [html`Nothing was decided. <a href="?">Open the page again</a> to be asked again.`],
  });

const closedBecause: Record<LinkClosure, string> = {
  link_leaked: "It was found in other mail, where another person could have used it.",
  wrong_codes: "Five wrong codes were entered on its page.",
};

export const closedPage = (because: LinkClosure): string =>
  outcomePage({
    tone: "plain",
    title: "This link was closed",
    sentences: [
      closedBecause[because],
      "You cannot decide on this page. If you have a newer mail about this draft, use the links in that mail.",
    ],
  });

/** Shown to the holder of the link by which the draft's newest version was edited and approved. */
export const ownEditPage = (view: CardedView, offers: WayOn): string =>
  outcomePage({
    tone: "wait",
    title: "Your edit is saved, and counts as your approval",
    sentences: [
      `It is version ${view.version} of this draft. The other approvers are asked about it, and nothing is sent until they have approved it.`,
    ],
    offers,
    more: shownDraft(view),
  });

/** Shown if the draft cannot be edited on this page. `sentence`: why. */
export const editRefusedPage = (sentence: string): string =>
  outcomePage({
    tone: "plain",
    title: "The draft was not edited",
    sentences: [sentence, html`Nothing was decided. <a href="?">Open the page again</a> to decide.`],
  });

export const inChatOnlyPage = (): string =>
  outcomePage({
    tone: "plain",
    title: "Decide about this draft in its chat",
    sentences: ["Nothing was decided. Only the users listed for the chat can decide, with the buttons there."],
  });

/** Path of the draft's page in the console. The console asks for the sign-in first, and returns to this page. */
export const consolePathOf = ({ draftId }: Pick<CardedView, "draftId">): string => `/review?draft=${draftId}`;

/** Shown if the workspace requires named approvers. */
export const signInPage = (view: Pick<CardedView, "draftId">): string =>
  outcomePage({
    tone: "plain",
    title: "Sign in to decide",
    sentences: [
      html`Nothing was decided. In this workspace only signed-in members decide. <a href="${consolePathOf(view)}">Open the draft in the console</a>`,
    ],
  });

/** Shown for all unknown addresses alike, so that it reveals nothing. */
export const unknownPage = (): string =>
  outcomePage({
    tone: "plain",
    title: "Page not found",
    sentences: ["If you followed a link from an approval mail, check that it was not cut off."],
  });

export const tooManyPage = (): string =>
  outcomePage({
    tone: "wait",
    title: "Too many invalid links",
    sentences: [
      "Too many invalid links were opened from your network address. A link from an approval mail still works: open it again.",
    ],
  });

/** `posted`: the outcome of a submitted form is unknown. */
export const unavailablePage = (posted: boolean): string =>
  outcomePage({
    tone: "wait",
    title: "Please try again in a moment",
    sentences: posted
      ? [
          html`We could not confirm your decision. It will not be counted twice. <a href="?">Open the page again</a> to see the current state.`,
        ]
      : [html`The draft cannot be shown right now. Nothing was decided. <a href="?">Try again</a>`],
  });

export const brokenPage = (): string =>
  outcomePage({
    tone: "bad",
    title: "Something went wrong on our side",
    sentences: [html`The error has been logged. <a href="?">Try again</a>`],
  });

/** Shown for an unreadable form: 413 if too large, otherwise not a form of these pages. */
export const unreadablePage = (status: number): string =>
  outcomePage({
    tone: "wait",
    title: status === 413 ? "The text is too long" : "The form could not be read",
    sentences: [html`Nothing was decided. <a href="?">Open the page again</a> to decide.`],
  });

export const methodPage = (): string =>
  outcomePage({
    tone: "plain",
    title: "This page cannot be opened this way",
    sentences: ["Open the link from the approval mail."],
  });

export const outcomePage = ({ more, offers, ...outcome }: Outcome): string =>
  page({
    title: outcome.title,
    main: html`${outcomeCard(outcome, html`<h1>${outcome.title}</h1>`)}${offers && wayOnSection(offers)}${more}`,
  });

const outcomeCard = ({ tone, sentences }: Outcome, heading: Markup): Markup =>
  html`<div class="card outcome ${tone}">${heading}${sentences.map((sentence) => html`<p>${sentence}</p>`)}</div>`;

export const shownDraft = (view: CardedView): Markup =>
  html`<details><summary>Show the draft</summary>${letterSection(view.card.letter, "The draft")}</details>`;
