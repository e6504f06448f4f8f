import type { QueueFilter } from "#projections/drafts/queries.ts";
import { isUuid } from "#src/commands/ids.ts";
import { html, type Markup } from "#src/html/html.ts";
import { type ListedWarning, listedWarnings } from "#streams/draft/warnings.ts";
import type { Priority } from "#streams/thread/events.ts";

/** Which drafts are listed. */
export type QueueChoice = {
  /** Only drafts of this identity. */
  identity?: string | undefined;
  /** Only drafts of conversations with this priority. */
  priority?: Priority | undefined;
  /** Only drafts that have waited at least as many hours. */
  hours?: number | undefined;
  /** Only drafts with this warning. */
  warning?: ListedWarning | undefined;
  /** Only drafts that are assigned to the reader, or to nobody. */
  assigned?: Assigned | undefined;
};

export const assignedChoices = ["mine", "nobody"] as const;
type Assigned = (typeof assignedChoices)[number];

/** Query of the review page. */
export type ReviewQuery = QueueChoice & {
  /** The selected draft; absent: the most urgent one. */
  draft?: string | undefined;
  /** The draft that was just decided. */
  decided?: string | undefined;
  /** Drafts of the queue before the listed ones. */
  from?: number | undefined;
};

export const priorities: readonly Priority[] = ["urgent", "high", "normal", "low"];

/** Waiting times to filter by, in hours. */
export const waitingHours = [1, 4, 24, 72] as const;

const mostFrom = 10_000;

/** Reads the query from a URL or form; malformed values count as absent. */
export function readReviewQuery(given: URLSearchParams): ReviewQuery {
  const from = Number(given.get("from"));
  return {
    draft: idIn(given, "draft"),
    identity: idIn(given, "identity"),
    priority: priorities.find((each) => each === given.get("priority")),
    hours: waitingHours.find((each) => String(each) === given.get("hours")),
    warning: listedWarnings.find((each) => each === given.get("warning")),
    assigned: assignedChoices.find((each) => each === given.get("assigned")),
    decided: idIn(given, "decided"),
    from: Number.isInteger(from) && from > 0 ? Math.min(from, mostFrom) : undefined,
  };
}

/** The draft that a form or an edit page names as the next one to show. */
export const nextDraftIn = (given: URLSearchParams): string | undefined => idIn(given, "next");

function idIn(given: URLSearchParams, name: string): string | undefined {
  const value = given.get(name);
  return value !== null && isUuid(value) ? value.toLowerCase() : undefined;
}

export const queueChoiceOf = ({ identity, priority, hours, warning, assigned }: ReviewQuery): QueueChoice => ({
  identity,
  priority,
  hours,
  warning,
  assigned,
});

const hourMs = 3_600_000;

/** Filter of the queue's query for this choice. `userId`: of the reader. */
export const queueFilterOf = (
  { identity, priority, hours, warning, assigned }: QueueChoice,
  { now, userId }: { now: Date; userId: string },
): QueueFilter => ({
  identityId: identity,
  priority,
  waitingSince: hours === undefined ? undefined : new Date(now.getTime() - hours * hourMs),
  warning,
  assigneeId: assigned === undefined ? undefined : assigned === "mine" ? userId : null,
});

/** Path of the page that shows several drafts of this choice at once. */
export const sheetPath = (place: ReviewQuery): string => pathWith("/review/sheet", queueChoiceOf(place));

export const reviewPath = (place: ReviewQuery & { shown?: number; newer?: "yes" | "no" }): string =>
  pathWith("/review", place);

/** `next`: the draft to show after the edited one was decided. */
export const editPath = (draftId: string, { from, ...place }: ReviewQuery, next: string | undefined): string =>
  pathWith(`/review/${draftId}/edit`, { ...queueChoiceOf(place), from, next });

function pathWith(path: string, given: object): string {
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(named.map(([name, value]) => [name, String(value)]));
  return query.size > 0 ? `${path}?${query}` : path;
}

/** Hidden inputs of a draft's forms: the place in the queue, and the draft to show after a decision. */
export function reviewQueryFields({ from, ...place }: ReviewQuery, next?: string | undefined): Markup {
  const fields = { next, ...queueChoiceOf(place), from };
  return html`${Object.entries(fields).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}`;
}
