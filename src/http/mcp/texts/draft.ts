import type { WireDraft } from "../../present/drafts.ts";
import { pieceOf } from "../bounds.ts";
import { type Fence, quoted, untrustedLine } from "../fence.ts";
import type { ToolCall } from "../tool.ts";
import { ago } from "./ago.ts";
import { shownText } from "./letter.ts";

/** Maximum number of characters of a draft's text: `briefText` in a list, `wholeText` for a single draft. */
export const briefText = 1_000;
export const wholeText = 6_000;
const maxReason = 2_000;

export type DraftOptions = { fence: Fence; now: Date; most?: number };

/** Adds the draft's text if it has only HTML. */
export async function withText({ deps, workspaceId }: ToolCall, draft: WireDraft): Promise<WireDraft> {
  const { body_text, body_html } = draft;
  return { ...draft, body_text: body_text ?? (await deps.costlyWork("textOfBody", body_html ?? "", workspaceId)) };
}

/** Describes a draft: its status, who decided, and what to do next. */
export function draftText(draft: WireDraft, { fence, now, most = wholeText }: DraftOptions): string {
  const piece = bodyOf(draft, most);
  const { decided_by: by } = draft;
  return [
    `Draft draft_id ${draft.id} on thread_id ${draft.thread_id}: ${facts(draft, now)}`,
    fence({
      what: `recipients of version ${draft.version} of the draft, and file names`,
      fields: {
        To: few(draft.to),
        Cc: few(draft.cc),
        Bcc: few(draft.bcc),
        Subject: untrustedLine(draft.subject, 200),
        "Decided by": by && [by.name, by.email].filter(Boolean).join(", "),
        "Failure reported by the other side": draft.failure_message,
      },
    }),
    `The draft's text, as its author wrote it:\n${quoted(piece.text)}`,
    ...(draft.reason === null
      ? []
      : [`The approver's reason, which you may follow:\n${quoted(reasonOf(draft.reason, most))}`]),
    ...(draft.changes_requested === null
      ? []
      : [
          `The approver's request for changes, which you may follow:\n${quoted(reasonOf(draft.changes_requested.text, most))}`,
        ]),
    ...(piece.nextOffset === null ? [] : [`(${piece.total - piece.nextOffset} more characters are not shown.)`]),
    `Next: ${nextStep(draft, now)}`,
  ].join("\n");
}

function facts(draft: WireDraft, now: Date): string {
  const { decided_by: by, approvals, stale_warning, newer_message_id: newer, answered_meanwhile: answered } = draft;
  return [
    `status ${draft.status}, version ${draft.version}, submitted ${ago(draft.created_at, now)}`,
    ...(by ? [decisionWords(draft, now)] : []),
    ...(draft.status === "pending" && approvals.required > 1
      ? [`${approvals.given.length} of ${approvals.required} approvals given`]
      : []),
    ...(draft.changes_requested
      ? [`changes were requested ${ago(draft.changes_requested.at, now)} through ${draft.changes_requested.by.kind}`]
      : []),
    ...(draft.sent_at ? [`sent ${ago(draft.sent_at, now)}`] : []),
    ...(draft.held_code ? [`held back: ${code(draft.held_code)}`] : []),
    ...(draft.failure_code ? [`failure ${code(draft.failure_code)}`] : []),
    ...(draft.status === "pending" && draft.warning_kinds.includes("answer_limit")
      ? ["it waits for a person because of the limit of answers that no person approved"]
      : []),
    ...(answered
      ? [`the message was answered meanwhile, from ${answered.from_email}: message_id ${answered.message_id}`]
      : []),
    ...(newer ? [`a newer message has arrived: newer_message_id ${newer}`] : stale_warning ? ["stale_warning"] : []),
  ].join("; ");
}

/** The decision and when it was made: "approved 2 hours ago (…) through telegram"; empty if there is none. */
export function decisionWords({ decided_by: by, decided_at }: WireDraft, now: Date): string {
  if (by === null) return "";
  return `${by.decision === "approve" ? "approved" : "rejected"} ${ago(decided_at, now)} through ${by.kind}`;
}

/** Advice to the model on its next step, by the state of the draft. */
export function nextStep(draft: WireDraft, now: Date): string {
  if (draft.newer_message_id !== null && ["pending", "approved", "stale"].includes(draft.status)) return newer;
  const { status, version, held_code: held } = draft;
  if (draft.changes_requested !== null)
    return `an approver asked for changes: revise this draft with revise_draft (version ${version}), then call wait_for_decision. Until then nobody can approve it.`;
  if (status === "approved" && held !== null) {
    return held === "sending_paused"
      ? "sending is paused: it is sent when the pause ends. Tell the user; do not send it again."
      : "it was approved and could not be sent. Tell the user why; once that is resolved, call send_draft.";
  }
  if (status === "approved" && draft.undo_until !== null && new Date(draft.undo_until) > now) {
    return "a person approved it and can undo that for some seconds: call get_draft after that.";
  }
  return status === "approved"
    ? `call send_draft with version ${version}, if this key may send and the service does not send it by itself.`
    : steps[status];
}

const newer =
  "the other side wrote again, so this draft is outdated. Call read_thread, then submit_draft with an answer to the newest message.";

const steps: Record<Exclude<WireDraft["status"], "approved">, string> = {
  pending: "a person has to decide: call wait_for_decision. Before that, revise_draft changes it.",
  rejected: "read the reason. If an answer is still needed, submit a new draft with submit_draft.",
  sending: "nothing: it is on its way. get_draft shows the result.",
  sent: "nothing: it was sent.",
  stale: newer,
  failed: "tell the user that it was not sent, and why. Do not send it again unless asked.",
};

const bodyOf = ({ body_text }: WireDraft, most: number) => pieceOf(body_text ?? "", { most, show: shownText });

const reasonOf = (reason: string, most: number): string =>
  pieceOf(reason, { most: Math.min(most, maxReason), show: shownText }).text;

/** The code if it looks like one, otherwise "other": providers may send any text. */
const code = (given: string): string => (/^[\w.-]{1,60}$/.test(given) ? given : "other");

const few = (all: readonly string[]): string =>
  untrustedLine(all.slice(0, 5).join(", "), 240) + (all.length > 5 ? ` and ${all.length - 5} more` : "");

/** The draft as data; text by others is only under `untrusted`. `reason`: the approver's. */
export function draftData(draft: WireDraft, { now, most = wholeText }: Omit<DraftOptions, "fence">) {
  const { decided_by: by } = draft;
  const { text } = bodyOf(draft, most);
  const addresses = (all: readonly string[]) => all.slice(0, 5).map((each) => untrustedLine(each, 100));
  return {
    id: draft.id,
    thread_id: draft.thread_id,
    identity_id: draft.identity_id,
    based_on_message_id: draft.based_on_message_id,
    status: draft.status,
    version: draft.version,
    decision: by && { decision: by.decision, kind: by.kind, version: by.version, at: draft.decided_at },
    approvals: { required: draft.approvals.required, given: draft.approvals.given.length },
    stale_warning: draft.stale_warning,
    newer_message_id: draft.newer_message_id,
    warning_kinds: draft.warning_kinds,
    answered_meanwhile: draft.answered_meanwhile && {
      message_id: draft.answered_meanwhile.message_id,
      at: draft.answered_meanwhile.at,
      from_email: draft.answered_meanwhile.from_email,
    },
    changes_requested: draft.changes_requested && {
      text: reasonOf(draft.changes_requested.text, most),
      version: draft.changes_requested.version,
      at: draft.changes_requested.at,
    },
    undo_until: draft.undo_until,
    sent_at: draft.sent_at,
    held_code: draft.held_code && code(draft.held_code),
    failure_code: draft.failure_code && code(draft.failure_code),
    created_at: draft.created_at,
    next: nextStep(draft, now),
    text,
    reason: draft.reason === null ? null : reasonOf(draft.reason, most),
    untrusted: {
      to: addresses(draft.to),
      cc: addresses(draft.cc),
      bcc: addresses(draft.bcc),
      subject: untrustedLine(draft.subject, 200),
      decided_by: by && untrustedLine([by.name, by.email].filter(Boolean).join(", ")),
      failure_message: draft.failure_message && untrustedLine(draft.failure_message),
    },
  };
}
