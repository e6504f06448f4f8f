import { named } from "#src/channels/card/names.ts";
import type { MailKind } from "#streams/inbox/mailKinds.ts";
import type { ListItem } from "../../routes.ts";

/** The newest received message. `held`: why the message is held; null if it is not held. */
export type NewestMessage = {
  messageId: string;
  /** ISO time. */
  at: string;
  /** Whose mail it is; null while it is held. */
  kind: MailKind | null;
  /** True if it is a report that a mail could not be delivered. */
  isBounce: boolean;
  /** True if a colleague handed the conversation over. */
  isHandedOver: boolean;
  fromBlockedContact: boolean;
  held: { because: "quota" | "identity_disabled" | "unknown" } | null;
};

type Draft = ListItem<"GET /v1/drafts">;

/** The fields of a draft that are needed here. */
export type DraftFacts = Pick<
  Draft,
  | "id"
  | "status"
  | "based_on_message_id"
  | "newer_message_id"
  | "reason"
  | "decided_at"
  | "held_code"
  | "undo_until"
  | "failure_message"
  | "created_at"
  | "updated_at"
> & {
  decided_by: Pick<NonNullable<Draft["decided_by"]>, "kind" | "name"> | null;
  approvals: { required: number; given: readonly unknown[] };
  notification_status: Pick<Draft["notification_status"], "state" | "error">;
};

export type Unanswered = {
  identityId: string;
  /** For `disabled` and `deleted` identities no draft can be sent. */
  identityStatus: "active" | "disabled" | "deleted";
  /** null: no message was received. */
  newestWord: NewestMessage | null;
  /** ISO time at which the last mail was sent; null if there is none. */
  answeredAt: string | null;
  /** Newest first. */
  drafts: readonly DraftFacts[];
};

/** Text and times alternately; times are shown in the reader's zone. */
export type ReasonSentence = readonly (string | { at: string })[];
/** `asksNothing`: the newest message asks for no answer. */
export type UnansweredReason = {
  sentence: ReasonSentence;
  link: { href: string; label: string } | null;
  asksNothing?: true;
};

/**
 * Explains in one sentence why nothing was sent since the newest received message, and links to where it can be changed. Undefined if an
 * answer was sent since, or no message was received.
 */
export function whyUnanswered(facts: Unanswered): UnansweredReason | undefined {
  const { newestWord: word, answeredAt } = facts;
  if (word === null || (answeredAt !== null && answeredAt >= word.at)) return undefined;
  if (word.held) return whileHeld(word.held.because, facts);
  const draft = facts.drafts.find(
    ({ status, created_at }) => status !== "sent" && (answeredAt === null || created_at > answeredAt),
  );
  return draft ? ofDraft(draft, word) : withoutDraft(word, facts);
}

function whileHeld(
  because: NonNullable<NewestMessage["held"]>["because"],
  { identityId }: Unanswered,
): UnansweredReason {
  switch (because) {
    case "quota":
      return {
        sentence: [
          "The newest message is held because the plan's quota of incoming mail is used up. Nothing is sent until it is released.",
        ],
        link: { href: "/billing", label: "See the plan" },
      };
    case "identity_disabled":
      return {
        sentence: [
          "The newest message is held because the identity is disabled. Nothing is sent until it is released.",
        ],
        link: identityLink(identityId),
      };
    case "unknown":
      return { sentence: ["The newest message is held. Nothing is sent until it is released."], link: null };
  }
}

function withoutDraft(word: NewestMessage, { identityId, identityStatus }: Unanswered): UnansweredReason {
  const link = messageLink(word.messageId);
  if (word.fromBlockedContact) {
    return {
      sentence: ["The sender is blocked: agents are not notified of this message, and no draft was written."],
      link,
    };
  }
  if (word.isHandedOver) {
    return {
      sentence: ["A colleague handed this conversation over. Agents are not notified of that."],
      link: { href: "#reply", label: "Write a reply" },
    };
  }
  const aside = word.kind && asideSentence(word.kind, word);
  if (aside) return { sentence: [aside], link, asksNothing: true };
  if (identityStatus === "deleted") {
    return { sentence: ["The identity of this conversation was deleted: nothing can be sent from it."], link: null };
  }
  if (identityStatus === "disabled") {
    return {
      sentence: ["No draft has been written, and the identity is disabled: nothing can be sent from it."],
      link: identityLink(identityId),
    };
  }
  return {
    sentence: ["No draft has been written since this message."],
    link: { href: "#reply", label: "Write a reply" },
  };
}

/** Why agents are not notified of a mail of this kind; undefined if they are. */
function asideSentence(kind: MailKind, { isBounce }: Pick<NewestMessage, "isBounce">): string | undefined {
  switch (kind) {
    case "automatic_reply":
      return "The newest message is an automatic reply: agents are not notified of these.";
    case "report":
      return isBounce
        ? "The newest message is a bounce: a mail that was sent from here could not be delivered. Agents are not notified of these."
        : "The newest message is a report about a mail, such as a delay or a receipt: agents are not notified of these.";
    case "colleague":
      return "The newest message is from a colleague, another address of this workspace: agents are not notified of these.";
    default:
      return undefined;
  }
}

function ofDraft(draft: DraftFacts, word: NewestMessage): UnansweredReason {
  const isForAnOlderMessage = draft.newer_message_id !== null || draft.based_on_message_id !== word.messageId;
  const link = { href: `/drafts/${draft.id}`, label: "Open the draft" };
  return { sentence: sentenceOf(draft, isForAnOlderMessage), link };
}

function sentenceOf(draft: DraftFacts, isForAnOlderMessage: boolean): ReasonSentence {
  switch (draft.status) {
    case "pending":
      return isForAnOlderMessage && draft.newer_message_id !== null
        ? ["The waiting draft answers an older message, so it cannot be sent. No other draft has been written."]
        : waiting(draft);
    case "approved":
      return isForAnOlderMessage && draft.newer_message_id !== null
        ? ["The approved draft answers an older message, so it cannot be sent. No other draft has been written."]
        : approved(draft);
    case "rejected":
      return [
        `${by(draft) ?? "An approver"} rejected the draft `,
        { at: draft.decided_at ?? draft.updated_at },
        draft.reason
          ? `: ${named(draft.reason, 200)}. No other draft has been written.`
          : ", without a reason. No other draft has been written.",
      ];
    case "stale":
      return [
        "A draft became stale ",
        { at: draft.updated_at },
        " because a newer message arrived before it was sent. No other draft has been written.",
      ];
    case "failed":
      return [
        "The reply could not be sent",
        draft.failure_message ? `: ${named(draft.failure_message, 300)} (` : " (",
        { at: draft.updated_at },
        "). It will not be tried again automatically.",
      ];
    case "sending":
    case "sent":
      return ["A reply is on its way since ", { at: draft.updated_at }, "."];
  }
}

function waiting({ created_at, approvals, notification_status: told }: DraftFacts): ReasonSentence {
  const votes =
    approvals.required > 1 ? ` ${approvals.given.length} of ${approvals.required} approvals have been given.` : "";
  const unreached =
    told.state === "failed"
      ? ` The approver could not be reached${told.error ? `: ${named(told.error, 200)}` : ""}.`
      : told.state === "retrying"
        ? " The approver has not been reached yet; the service will try again."
        : told.state === "expired"
          ? " The requests to the approvers have expired, and nobody is asked again by itself."
          : "";
  return ["A draft has been waiting for a decision since ", { at: created_at }, `.${votes}${unreached}`];
}

const obstacles: Record<string, string> = {
  sending_paused: "sending is paused; it is sent when the pause ends",
  plan_limit_reached: "the plan's quota of sent mail is used up",
  identity_not_active: "the identity cannot send: it is disabled, above the plan, or its domain is not verified",
  assistant_disabled: "the assistant is disabled",
  loop_guarded: "it would answer an automatic mail a second time",
};

function approved(draft: DraftFacts): ReasonSentence {
  const who = by(draft);
  const begin = who ? `${who} approved a draft ` : "A draft was approved ";
  const at = { at: draft.decided_at ?? draft.updated_at };
  if (draft.undo_until !== null) return [begin, at, ". It will be sent within seconds."];
  if (draft.held_code === null) return [begin, at, ". It has not been sent yet."];
  const because = obstacles[draft.held_code] ?? `sending was refused (${draft.held_code})`;
  return [begin, at, `, but it was not sent: ${because}.`];
}

/** In quotes, because names are free text that could otherwise continue the sentence. */
const by = ({ decided_by }: DraftFacts): string | null => (decided_by?.name ? named(decided_by.name, 60) : null);

const messageLink = (id: string) => ({ href: `#message-${id}`, label: "See the message" });
const identityLink = (id: string) => ({ href: `/identities/${id}`, label: "See the identity" });
