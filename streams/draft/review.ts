import { Rejected } from "../decider.ts";
import { unreachable } from "../unreachable.ts";
import { type Press, unconfirmed } from "./confirmation.ts";
import type { Making } from "./content.ts";
import { type Draft, isByPersonOrKey, makingOf, requireStatus } from "./draft.ts";
import type { DraftEvent, EditReason, StoredContent } from "./events.ts";
import { requireOpenLink } from "./notification.ts";
import { type Voting, vote } from "./quorum.ts";

/** People deciding, and the agent editing. A decision is bound to the version and hash that were shown. */
export type ReviewCommand =
  | ({
      type: "EditDraft";
      contentSha256: string;
      rationale: string | null;
      changedFields: string[];
      because: EditReason;
      /** The version the editor saw; null if it did not say. */
      ifVersion: number | null;
    } & StoredContent &
      Making)
  | ({
      type: "ApproveDraft";
      ifVersion: number | null;
      /** The hash that was shown, if one was. */
      contentSha256: string | null;
      sendRequested: boolean;
      /** If a rule approves: the run that planned it, and the rule. */
      grantedBy?: { runId: string; ruleId: string };
      /** Whose approval it is, where more than one may be required. Absent: it is enough by itself. */
      voting?: Voting;
    } & Press)
  | ({ type: "RejectDraft"; reason: string | null; ifVersion: number | null } & Press)
  | { type: "ReturnToPending"; because: string }
  /** The rule or setting that approved this version no longer does. An approval that a person or key gave meanwhile stays valid. */
  | { type: "WithdrawApproval"; version: number; because: string }
  /** The rules of draft.created have run, once. `manual` takes an auto-approval back that has not come to a send yet. */
  | { type: "ApplyRules"; mode: "auto" | "manual" | null; because: string }
  /** An auto-approved draft whose rules could not be run in time goes to a person. */
  | { type: "GiveUpOnRules"; because: string };

export function decideReview(command: ReviewCommand, draft: Draft): DraftEvent[] {
  switch (command.type) {
    case "EditDraft":
      return edit(command, draft);
    case "ApproveDraft":
      requireStatus(draft, "approved", "pending");
      requireShown(command.ifVersion, command.contentSha256, draft);
      requireOpenLink(draft, command.tokenSha256);
      return unconfirmed(command, draft) ?? approve(command, draft);
    case "RejectDraft":
      // The first press decides. A key may also take back what was approved.
      requireStatus(draft, "rejected", ...rejectableFrom(command));
      requireShown(command.ifVersion, null, draft);
      requireOpenLink(draft, command.tokenSha256);
      return (
        unconfirmed(command, draft) ?? [
          {
            type: "DraftRejected",
            data: { version: draft.version, reason: command.reason, tokenSha256: command.tokenSha256 },
          },
        ]
      );
    case "ReturnToPending":
      if (draft.status !== "approved") return [];
      return [{ type: "DraftReturnedToPending", data: { because: command.because } }];
    case "WithdrawApproval":
      if (draft.status !== "approved" || draft.version !== command.version) return [];
      if (isByPersonOrKey(draft.approval)) return [];
      return [{ type: "DraftReturnedToPending", data: { because: command.because } }];
    case "ApplyRules": {
      if (draft.rulesApplied) return [];
      const applied: DraftEvent = { type: "DraftRulesApplied", data: { mode: command.mode } };
      const takenBack = command.mode === "manual" && isAutoApproval(draft);
      return takenBack ? [{ type: "DraftReturnedToPending", data: { because: command.because } }, applied] : [applied];
    }
    case "GiveUpOnRules":
      if (draft.rulesApplied || !isAutoApproval(draft)) return [];
      return [{ type: "DraftReturnedToPending", data: { because: command.because } }];
    default:
      return unreachable(command);
  }
}

function approve(command: Extract<ReviewCommand, { type: "ApproveDraft" }>, draft: Draft): DraftEvent[] {
  const { sendRequested, tokenSha256, grantedBy, voting } = command;
  if (voting !== undefined && voting.required > 1) return vote(draft, { voting, sendRequested, tokenSha256 });
  const { version, contentSha256 } = draft;
  return [
    {
      type: "DraftApproved",
      data: { version, contentSha256, sendRequested, tokenSha256, ...(grantedBy && { grantedBy }) },
    },
  ];
}

const rejectableFrom = ({ tokenSha256 }: Press): Draft["status"][] =>
  tokenSha256 === null ? ["pending", "approved", "stale"] : ["pending"];

const isAutoApproval = (draft: Draft): boolean => draft.autoApproved && draft.status === "approved";

function edit(command: Extract<ReviewCommand, { type: "EditDraft" }>, draft: Draft): DraftEvent[] {
  // What the service itself changes reaches approved drafts too, and takes their approval back: it was for another content.
  if (command.because !== "edit") {
    if (draft.status !== "pending" && draft.status !== "approved") return [];
    if (command.contentSha256 === draft.contentSha256) return [];
  } else {
    requireStatus(draft, "edited", "pending");
  }
  requireShown(command.ifVersion, null, draft);
  if (command.changedFields.length === 0) return [];
  const { content, contentBlob, contentSha256, rationale, changedFields, because } = command;
  const version = draft.version + 1;
  return [
    {
      type: "DraftEdited",
      data: { version, content, contentBlob, ...makingOf(command), contentSha256, rationale, changedFields, because },
    },
  ];
}

function requireShown(version: number | null, contentSha256: string | null, draft: Draft): void {
  const changed = version !== null && version !== draft.version;
  if (changed || (contentSha256 !== null && contentSha256 !== draft.contentSha256)) {
    throw new Rejected("version_mismatch", `this draft changed: review version ${draft.version} first`, {
      version: draft.version,
    });
  }
}
