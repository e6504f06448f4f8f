import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import { describeDecider } from "./outcomeNews.ts";

type History = readonly Recorded<DraftEvent>[];

/**
 * Describes from the draft's history how an approval request in a chat ended, in a few sentences; null while its buttons can decide. A new
 * version or a withdrawn approval ends the request for good, because later decisions belong to a new request.
 */
export function conclusionOf(notificationId: string, history: History): string | null {
  const asked = history.findIndex(
    ({ type, data }) =>
      type === "ApproversAsked" && (data as { notificationId: string }).notificationId === notificationId,
  );
  let approved: string[] = [];
  /** Sentences about an approval that can still be undone. They are shown only once it cannot. */
  let untold: string[] = [];
  const certain = (): string[] => {
    const told = untold.length > 0 ? untold : approved;
    untold = [];
    return told;
  };
  let ended: string[] = [];
  const told = () => (approved.length + ended.length === 0 ? null : [...approved, ...ended].join(" "));
  for (const [index, event] of history.entries()) {
    if (asked === -1 || index <= asked) continue;
    const when = readableTime(event.metadata.at);
    switch (event.type) {
      case "DraftApproved": {
        const sentences = [
          `Approved by ${approversOf(event, history.slice(0, index))}, ${when}.`,
          event.data.sendRequested ? "It is on its way." : "It is not sent yet.",
        ];
        if (event.data.sendAfter === undefined) approved = sentences;
        else untold = sentences;
        break;
      }
      case "SendHeld":
        if (untold.length > 0) approved = [...certain().slice(0, 1), "It is not sent yet."];
        break;
      case "DraftQueued":
        approved = certain();
        // An earlier approval is described already. If there is none, the send by an API key is the approval.
        if (approved.length === 0)
          approved = [`Approved by ${describeDecider(event.metadata.actor)}, ${when}.`, "It is on its way."];
        break;
      case "DraftSent":
        approved = certain().slice(0, 1);
        ended = [`Sent, ${when}.`];
        break;
      case "DraftRejected":
        [approved, untold] = [[], []];
        ended = [
          ...ended,
          `Rejected by ${describeDecider(event.metadata.actor)}, ${when}.`,
          ...reasonOf(event.data.reason),
        ];
        break;
      case "DraftMarkedStale":
        approved = certain().slice(0, 1);
        ended = [`Stopped, ${when}: a newer message arrived after the one it answers.`];
        break;
      case "DraftFailed":
        approved = certain().slice(0, 1);
        ended = [
          event.data.code === "unconfirmed"
            ? `It is not known whether it was sent (${when}). It will not be sent again automatically.`
            : `Not sent, ${when}: ${shortLine(event.data.message, 300)}`,
        ];
        break;
      case "DraftReturnedToPending":
        // The card never showed the undone approval, so the request stays as it is.
        if (event.data.withdrawn !== undefined) {
          untold = [];
          break;
        }
        return `No longer approved, ${when}: ${shortLine(event.data.because, 300)}. A new question follows.`;
      case "ChangesRequested":
        ended = [
          `Changes requested by ${describeDecider(event.metadata.actor)}, ${when}: “${shortLine(event.data.text, 300)}”`,
          "A new question follows with the agent's next version.",
        ];
        break;
      case "ChangesRequestWithdrawn":
        return `The request for changes was withdrawn, ${when}. A new question follows.`;
      case "DraftEdited":
        return `${editedBy(event)}, ${when}: version ${event.data.version} replaces the one above. You can no longer decide here.`;
      case "ApprovalLinkClosed":
        if (event.data.notificationId === notificationId) return `Closed, ${when}. You can no longer decide here.`;
    }
  }
  return told();
}

/** Returns the names of all whose approvals made up the quorum, or of the only approver. */
function approversOf(event: Recorded<Extract<DraftEvent, { type: "DraftApproved" }>>, before: History): string {
  const { quorum, version } = event.data;
  if (!quorum) return describeDecider(event.metadata.actor);
  const names = quorum.voters.flatMap((voter) => {
    const given = before.findLast(
      ({ type, data }) => type === "ApprovalGiven" && data.voter === voter && data.version === version,
    );
    return given ? [describeDecider(given.metadata.actor)] : [];
  });
  return [...names.slice(0, -1), ...names.slice(-1)].join(" and ");
}

/** A signed-in person can undo an approval for a while, so theirs is not told yet. */
const editedBy = ({ data, metadata }: Recorded<Extract<DraftEvent, { type: "DraftEdited" }>>): string =>
  data.approvedAtOnce && metadata.actor.kind !== "session"
    ? `Edited and approved by ${describeDecider(metadata.actor)}`
    : "Changed";

const reasonOf = (reason: string | null): string[] =>
  reason === null ? [] : [`The reason given: “${shortLine(reason, 300)}”`];
