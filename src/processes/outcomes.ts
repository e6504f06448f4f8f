import { shortLine } from "#src/html/visible.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Actor, Recorded } from "#streams/event.ts";

/** How a draft ended, as approvers are told it. */
export type Outcome = {
  /** Our own words alone. */
  subject: string;
  sentences: string[];
  /** Told to those who were asked about one of these versions … */
  versions: number[];
  /** … except those who pressed the button and saw it, and, where `primary`, those who are asked again. */
  except: { address: string | null; primary?: true };
};

type History = readonly Recorded<DraftEvent>[];

/** What approvers are told of an event, given the draft's history up to it; null if nothing. */
export function outcomeToTell(event: Recorded<DraftEvent>, history: History): Outcome | null {
  const actor = event.metadata.actor;
  switch (event.type) {
    case "DraftSent": {
      const decision = decisionIn(history);
      // Who was told of the approval has heard what there was to decide.
      if (decision && isToldApproval(decision)) return null;
      const sentences = ["The mail was sent.", ...approvedBy(decision)];
      return {
        subject: "Sent: a mail you were asked about",
        sentences,
        ...toThoseAsked(history, decision?.metadata.actor),
      };
    }
    case "DraftFailed": {
      // What nobody knows is told otherwise (tellApprovers.ts).
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
      // A stale one is only put away: that it will not be sent was told before.
      if (history.some(({ type }) => type === "DraftMarkedStale")) return null;
      const { reason } = event.data;
      const why = reason === null ? [] : [`The reason given: “${shortLine(reason, 300)}”`];
      const sentences = [`The mail was rejected by ${nameOf(actor)}, and will not be sent.`, ...why];
      return { subject: "Rejected: a mail you were asked about", sentences, ...toThoseAsked(history, actor) };
    }
    case "DraftApproved": {
      if (!isToldApproval(event)) return null;
      const sentences = [`The mail was approved by ${nameOf(actor)}. It is not sent yet.`];
      return { subject: "Approved: a mail you were asked about", sentences, ...toThoseAsked(history, actor) };
    }
    case "DraftEdited": {
      // What was approved by the same act is told when it has left, and who edited it may take that back until then.
      if (event.data.because !== "edit" || event.data.approvedAtOnce) return null;
      const sentences = [
        "The mail was changed after you were asked about it, so the links that you have decide nothing any more. The first approver is asked about the new version, and you will be if nobody decides in time.",
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

type Approved = Recorded<Extract<DraftEvent, { type: "DraftApproved" | "DraftQueued" }>>;

/** The event that authorised the send: an approval, or a key's send of what nobody had approved. */
const decisionIn = (history: History): Approved | undefined =>
  history.findLast((event): event is Approved => event.type === "DraftApproved" || isByKey(event));

const isByKey = (event: Recorded<DraftEvent>): boolean =>
  event.type === "DraftQueued" && event.data.authorisation.kind === "api_key";

/** An approval that sends tells its outcome instead. */
const isToldApproval = (event: Recorded<DraftEvent>): boolean =>
  event.type === "DraftApproved" && !event.data.sendRequested;

const approvedBy = (decision: Approved | undefined): string[] =>
  decision ? [`It was approved by ${nameOf(decision.metadata.actor)}.`] : [];

/**
 * Those asked about the newest version; and those asked about earlier ones that the service alone replaced, or a person who approved theirs at once, which
 * they were not told. `who` saw it on the page.
 */
function toThoseAsked(history: History, who?: Actor): Pick<Outcome, "versions" | "except"> {
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

/** Who decided, and through what. */
export function nameOf({ kind, id, name, channel }: Actor): string {
  const who = shortLine(name ?? id, 100);
  switch (kind) {
    case "email_link":
      // A link into a chat names nobody.
      if (channel !== undefined && channel !== "email") return `somebody by a link in ${shortLine(channel, 30)}`;
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
