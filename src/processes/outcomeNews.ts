import { shortLine } from "#src/html/visible.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Actor, Recorded } from "#streams/event.ts";

/** News for approvers about how a draft ended. */
export type OutcomeNews = {
  /** Fixed text, without anything that tenants or customers wrote. */
  subject: string;
  sentences: string[];
  /** Versions of the draft: approvers who were asked about one of them get the mail. */
  versions: number[];
  /**
   * Approvers who get no mail: the person who decided and saw the result (`address`) and, if `primary`, the primary channel's approver, who
   * is asked again instead.
   */
  except: { address: string | null; primary?: true };
};

type History = readonly Recorded<DraftEvent>[];

/** Returns what approvers are mailed about an event, from the draft's history up to the event; null if nothing. */
export function outcomeNews(event: Recorded<DraftEvent>, history: History): OutcomeNews | null {
  const actor = event.metadata.actor;
  switch (event.type) {
    case "DraftSent": {
      const decision = decisionIn(history);
      // Approvers who were mailed the approval need no mail about the sending.
      if (decision && isToldApproval(decision)) return null;
      const sentences = ["The mail was sent.", ...approvedBy(decision)];
      return {
        subject: "Sent: a mail you were asked about",
        sentences,
        ...toThoseAsked(history, decision?.metadata.actor),
      };
    }
    case "DraftFailed": {
      // tellApprovers.ts mails an unconfirmed outcome.
      if (event.data.code === "unconfirmed") return null;
      const sentences = [
        `The mail was not sent: ${shortLine(event.data.message, 300)}`,
        ...approvedBy(decisionIn(history)),
      ];
      return { subject: "Failed: a mail you were asked about was not sent", sentences, ...toThoseAsked(history) };
    }
    case "DraftMarkedStale": {
      const because =
        "The mail was stopped: a newer message arrived after the one it answers. The agent is informed and can write a new one.";
      const sentences = [because, ...approvedBy(decisionIn(history))];
      return { subject: "Stopped: a newer message arrived", sentences, ...toThoseAsked(history, actor) };
    }
    case "DraftRejected": {
      // Rejecting a stale draft only archives it: approvers were mailed before that the draft will not be sent.
      if (history.some(({ type }) => type === "DraftMarkedStale")) return null;
      const { reason } = event.data;
      const why = reason === null ? [] : [`The reason given: “${shortLine(reason, 300)}”`];
      const sentences = [`The mail was rejected by ${describeDecider(actor)}, and will not be sent.`, ...why];
      return { subject: "Rejected: a mail you were asked about", sentences, ...toThoseAsked(history, actor) };
    }
    case "DraftApproved": {
      if (!isToldApproval(event)) return null;
      const sentences = [`The mail was approved by ${describeDecider(actor)}. It is not sent yet.`];
      return { subject: "Approved: a mail you were asked about", sentences, ...toThoseAsked(history, actor) };
    }
    case "DraftEdited": {
      // An edit that also approved the draft is mailed when the draft is sent, because its author can undo the approval until then.
      if (event.data.because !== "edit" || event.data.approvedAtOnce) return null;
      const sentences = [
        "The mail was changed after you were asked about it, so you can no longer decide with your links. The first approver is asked about the new version, and you will be asked if it is not decided in time.",
      ];
      const versions = [event.data.version - 1];
      return {
        subject: "Changed: a mail you were asked about",
        sentences,
        versions,
        except: { address: null, primary: true },
      };
    }
    default:
      return null;
  }
}

type ApprovingEvent = Recorded<Extract<DraftEvent, { type: "DraftApproved" | "DraftQueued" }>>;

/** Returns the event that authorised the send: an approval, or an API key's send of a draft without one. */
const decisionIn = (history: History): ApprovingEvent | undefined =>
  history.findLast((event): event is ApprovingEvent => event.type === "DraftApproved" || isByKey(event));

const isByKey = (event: Recorded<DraftEvent>): boolean =>
  event.type === "DraftQueued" && event.data.authorisation.kind === "api_key";

/** Returns true if the approval itself is mailed: if it does not send the draft. Otherwise the outcome is mailed instead. */
const isToldApproval = (event: Recorded<DraftEvent>): boolean =>
  event.type === "DraftApproved" && !event.data.sendRequested;

const approvedBy = (decision: ApprovingEvent | undefined): string[] =>
  decision ? [`It was approved by ${describeDecider(decision.metadata.actor)}.`] : [];

/**
 * Returns the versions whose approvers are mailed: from the newest version back to the last one that was submitted or edited without
 * approval. The versions after that one, made by the service or by an edit approved at once, were not mailed about. `who`: person who saw
 * the outcome on a page and gets no mail.
 */
export function toThoseAsked(history: History, who?: Actor): Pick<OutcomeNews, "versions" | "except"> {
  const made = history.filter((event) => event.type === "DraftSubmitted" || event.type === "DraftEdited");
  const isWritten = (event: Recorded<DraftEvent>) =>
    event.type === "DraftSubmitted" ||
    (event.type === "DraftEdited" && event.data.because === "edit" && !event.data.approvedAtOnce);
  const written = made.findLastIndex(isWritten);
  const versions = made
    .slice(Math.max(written, 0))
    .map((event) => (event.type === "DraftEdited" ? event.data.version : 1));
  const address = who?.kind === "session" ? who.email : who?.kind === "email_link" ? who.id : undefined;
  return { versions, except: { address: address ?? null } };
}

/** Describes who decided, and through which channel. */
export function describeDecider({ kind, id, name, channel }: Actor): string {
  const who = shortLine(name ?? id, 100);
  switch (kind) {
    case "email_link":
      // A link in a chat does not identify a person.
      if (channel !== undefined && channel !== "email") return `a person with a link in ${shortLine(channel, 30)}`;
      return `${who} by a link in an approval mail`;
    case "api_key":
      return `the API key “${who}”`;
    case "rule":
      return `the rule “${who}”`;
    case "auto":
      return "the identity's setting auto_approve_replies";
    case "system":
      return "the service";
    case "session":
      return `${who} in the console`;
    default:
      return channel === undefined ? who : `${who} through ${shortLine(channel, 30)}`;
  }
}
