import { unreachable } from "#streams/unreachable.ts";
import type { DecisionRequest } from "./life.ts";
import type { LifeEvent } from "./lifeEvents.ts";

type QuestionEvent = Extract<
  LifeEvent,
  { type: "ApproversAsked" | "ApproversNotified" | "NotificationFailed" | "ApprovalLinkClosed" }
>;

/** Applies an event about an approval request to the list of requests. */
export function applyRequest(questions: readonly DecisionRequest[], event: QuestionEvent): readonly DecisionRequest[] {
  const { at } = event;
  const changed = (id: string, change: Partial<DecisionRequest>) =>
    questions.map((question) => (question.id === id ? { ...question, ...change } : question));
  switch (event.type) {
    case "ApproversAsked": {
      const { notificationId: id, version, channel } = event.data;
      const open = { reachedAt: null, failure: null, closed: null };
      return [...questions, { id, version, channel, askedAt: at, ...open }];
    }
    case "ApproversNotified":
      return changed(event.data.notificationId, { reachedAt: at, failure: null });
    case "NotificationFailed": {
      const { notificationId, error, final } = event.data;
      // A request that was accepted and then bounced did not reach anyone.
      return changed(notificationId, { failure: { at, error, final }, reachedAt: null });
    }
    case "ApprovalLinkClosed":
      return changed(event.data.notificationId, { closed: { at, because: event.data.because } });
    default:
      return unreachable(event);
  }
}
