import { warningWords } from "#src/channels/warningWords.ts";
import { returnedBecause } from "#src/commands/drafts/life/fold.ts";
import type { DecisionRequest, DraftLife } from "#src/commands/drafts/life/life.ts";
import { actorInWords, channelInWords } from "#src/commands/drafts/life/people.ts";
import { joinPhrases, listInWords, type Phrase } from "#src/commands/drafts/life/phrases.ts";
import type { VersionWarning } from "#streams/draft/warnings.ts";
import type { ReviewLifeEvent, StepWords } from "./stepParts.ts";
import { fact, hash, type PartialStepWords, wordsOnly } from "./stepParts.ts";
import { unknownEvent } from "./unknownEvent.ts";

/** Describes an event of a draft's review or sending. `life`: the draft's state after it. */
export function reviewWords(event: ReviewLifeEvent, life: DraftLife): StepWords {
  const { what, facts = [], texts = [] } = wordsOf(event, life);
  return { what, facts, texts: texts.filter(({ text }) => text !== "") };
}

function wordsOf(event: ReviewLifeEvent, life: DraftLife): PartialStepWords {
  switch (event.type) {
    case "DraftSubmitted":
      return submitted(event);
    case "DraftEdited":
      return edited(event);
    case "DraftRulesBegun":
      return wordsOnly(joinPhrases`The rules for a new draft started`);
    case "DraftRulesApplied":
      return wordsOnly(joinPhrases`The rules for a new draft were run${modes[String(event.data.mode)] ?? ""}`);
    case "ApproversAsked": {
      const { version, contentSha256, channel, expiresAt, bundled } = event.data;
      return {
        what: joinPhrases`A request to decide about version ${version} was made for ${channelInWords(channel)}`,
        facts: [
          fact("Channel", channel.slot === "primary" ? "the first approver's" : "the second approver's"),
          hash(contentSha256),
          fact("It can be answered until", { at: expiresAt }),
          ...(bundled ? [fact("Sent", "in one mail with other requests")] : []),
        ],
      };
    }
    case "ApproversNotified":
      return wordsOnly(
        joinPhrases`The request to ${questionIn(life, event.data.notificationId)} was accepted by its channel`,
      );
    case "NotificationFailed": {
      const { notificationId, error, final, waits } = event.data;
      const next = waits ? "; it waits for the hourly quota and is tried again" : final ? "" : "; it is tried again";
      const what = joinPhrases`The request to ${questionIn(life, notificationId)} did not arrive${next}`;
      return { what, texts: [{ label: "Error", text: error }] };
    }
    case "ApprovalLinkClosed": {
      const { notificationId, because } = event.data;
      return wordsOnly(
        joinPhrases`The links of the request to ${questionIn(life, notificationId)} were closed: ${closed[because]}`,
      );
    }
    case "ConfirmCodeRefused":
      return wordsOnly(
        joinPhrases`A wrong code was entered on the page of the request to ${questionIn(life, event.data.notificationId)}`,
      );
    case "NotifyRequested":
      return wordsOnly(
        event.data.notificationId === undefined
          ? joinPhrases`A reminder of the approvers was requested`
          : joinPhrases`The request to ${questionIn(life, event.data.notificationId)} had expired; its link was used to ask for a new one`,
      );
    case "RequestsRepeated":
      return wordsOnly(
        joinPhrases`Nobody decided about version ${event.data.version} in time; its approvers are asked once more`,
      );
    case "RequestsExpired":
      return wordsOnly(
        joinPhrases`Nobody decided about version ${event.data.version} in time; nobody is asked again by itself`,
      );
    case "DraftEscalated":
      return wordsOnly(
        joinPhrases`Version ${event.data.version} went to the second approver's channel (${{ exact: event.data.channelType }})`,
      );
    case "ApprovalGiven": {
      const { version, contentSha256, required } = event.data;
      const what = joinPhrases`Version ${version} got one of the ${required} approvals it needs (${life.votes.length} so far)`;
      return { what, facts: [hash(contentSha256)] };
    }
    case "ChangesRequested": {
      const { version, contentSha256, text } = event.data;
      const what = joinPhrases`Changes to version ${version} were requested; it cannot be approved meanwhile`;
      return { what, facts: [hash(contentSha256)], texts: [{ label: "Request", text }] };
    }
    case "ChangesRequestWithdrawn":
      return wordsOnly(
        joinPhrases`The request for changes was withdrawn; version ${event.data.version} can be decided again`,
      );
    case "DraftAssigned": {
      const { assignee } = event.data;
      return wordsOnly(
        assignee
          ? joinPhrases`The draft was assigned to ${{ said: assignee.name }}`
          : joinPhrases`The draft was assigned to nobody`,
      );
    }
    case "ChangesReminded":
      return wordsOnly(joinPhrases`The changes were not made in time; the person who had asked for them was reminded`);
    case "ApprovalWithdrawn":
      return wordsOnly(
        joinPhrases`An approval of version ${event.data.version} was undone by the person who had given it`,
      );
    case "DraftApproved":
      return approved(event);
    case "DraftRejected":
      return {
        what: joinPhrases`Version ${event.data.version} was rejected${event.data.reason === null && ", without a reason"}`,
        texts: [{ label: "Reason", text: event.data.reason ?? "" }],
      };
    case "DraftReturnedToPending":
      return because(
        event.data.withdrawn === undefined
          ? joinPhrases`The approval was undone; the draft needs a new decision`
          : joinPhrases`The approver undid the approval; the draft needs a new decision`,
        returnedBecause(event.data.because),
      );
    case "SendHeld":
      return because(
        joinPhrases`The approved draft cannot be sent now (${{ exact: event.data.code }})`,
        event.data.message,
      );
    case "SendClaimed": {
      const { version, contentSha256 } = event.data;
      const what = joinPhrases`The conversation was claimed for sending version ${version}: from here on, newer mail stops it`;
      return { what, facts: [hash(contentSha256)] };
    }
    case "SendClaimReleased":
      return because(joinPhrases`The claim on the conversation was released`, event.data.because);
    case "DraftQueued":
      return queued(event);
    case "DraftRequeued":
      return wordsOnly(joinPhrases`Another attempt replaced the previous one (${event.data.tries} failed so far)`);
    case "SendAbandoned":
      return because(joinPhrases`The attempt was abandoned before the mail was queued`, event.data.because);
    case "DraftMarkedStale":
      return {
        what: joinPhrases`Stopped: a newer message had arrived`,
        facts: [fact("That message", { exact: event.data.newMessageId })],
      };
    case "DraftSent":
      return {
        what: joinPhrases`It ended as sent`,
        facts: [fact("Sent", { at: event.data.sentAt }), fact("Message-ID", { exact: event.data.rfcMessageId })],
      };
    case "DraftFailed":
      return because(joinPhrases`It ended as failed (${{ exact: event.data.code }})`, event.data.message);
    case "LateEvidence":
      return wordsOnly(
        event.data.outcome === "accepted"
          ? joinPhrases`After it had ended as failed, evidence arrived that the provider accepted it`
          : joinPhrases`After it had ended as failed, evidence arrived that the provider did not accept it`,
      );
    default:
      return unknownEvent(event);
  }
}

type Of<Type extends ReviewLifeEvent["type"]> = Extract<ReviewLifeEvent, { type: Type }>;

const closed = {
  link_leaked: "one was found in received mail",
  wrong_codes: "too many wrong codes were entered",
};

const modes: Partial<Record<string, string>> = {
  auto: "; one of them approves it",
  manual: "; one of them requires a person's decision",
};

const because = (what: Phrase[], text: string): PartialStepWords => ({ what, texts: [{ label: "Reason", text }] });

const kinds: Partial<Record<string, string>> = {
  send: "a new mail, by one call",
  reply: "a reply, by one call",
  test_email: "a test mail",
};

function submitted({ data }: Of<"DraftSubmitted">): PartialStepWords {
  const { kind = "draft", staleWarning, autoApproved, rationale, contentSha256, warnings } = data;
  return {
    what: joinPhrases`Version 1 was submitted${autoApproved && ", and approved by the identity's setting auto_approve_replies"}`,
    facts: [
      ...(kind === "draft" ? [] : [fact("As", kinds[kind] ?? "a mail")]),
      ...(staleWarning ? [fact("Warning", "newer mail had already arrived than the message it answers")] : []),
      ...warned(warnings),
      hash(contentSha256),
    ],
    texts: [{ label: "The author's reason", text: rationale ?? "" }],
  };
}

const madeBecause = {
  edit: "was written",
  identity_changed: "was made by the service, because the identity had changed",
};

const edited = ({ data }: Of<"DraftEdited">): PartialStepWords => ({
  what: joinPhrases`Version ${data.version} ${madeBecause[data.because]}`,
  facts: [...warned(data.warnings), hash(data.contentSha256)],
});

/** The warnings stored with a version; none for a version from before these were stored. */
const warned = (kinds: readonly VersionWarning[] = []) =>
  kinds.length === 0
    ? []
    : [fact(kinds.length === 1 ? "Warning" : "Warnings", kinds.map((kind) => warningWords[kind]).join(", "))];

function approved({ data }: Of<"DraftApproved">): PartialStepWords {
  const { version, contentSha256, sendRequested, grantedBy, quorum, sendAfter } = data;
  return {
    what: joinPhrases`Version ${version} was approved${sendRequested && ", to be sent"}`,
    facts: [
      hash(contentSha256),
      ...(quorum ? [fact("Approvals", `${quorum.voters.length}, of ${quorum.required} required`)] : []),
      ...(sendAfter === undefined ? [] : [fact("Can be undone, and is not sent, until", { at: sendAfter })]),
      ...(grantedBy ? [fact("Rule and its run", { exact: `${grantedBy.ruleId}, ${grantedBy.runId}` })] : []),
    ],
  };
}

const authorised = {
  approval: "the approval above",
  api_key: "the key that sent it",
  auto: "a rule or setting, not a person",
};

function queued({ data, actor }: Of<"DraftQueued">): PartialStepWords {
  const { version, contentSha256, authorisation, attemptId } = data;
  return {
    what: joinPhrases`Version ${version} was queued to be sent`,
    facts: [
      fact("Authorised by", authorised[authorisation.kind]),
      ...(authorisation.kind === "api_key" ? [{ label: "The key", value: actorInWords(actor) }] : []),
      hash(contentSha256),
      ...(authorisation.quorum
        ? [{ label: "Approvers counted", value: listInWords(authorisation.quorum.voters.map((exact) => [{ exact }])) }]
        : []),
      fact("Attempt", { exact: attemptId }),
    ],
  };
}

/** The approval request that an event is about. */
function questionIn({ questions }: DraftLife, id: string): Phrase[] {
  const question = questions?.find((each: DecisionRequest) => each.id === id);
  return question ? channelInWords(question.channel) : joinPhrases`an approver`;
}
