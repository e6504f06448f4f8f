import { Rejected } from "../decider.ts";
import type { Draft } from "./draft.ts";
import type { Assignee, DraftEvent } from "./events.ts";

export type AssignDraft = { type: "AssignDraft"; assignee: Assignee | null };

/** The same assignee is already so. Throws Rejected invalid_request, as a conflict, if the draft is decided. */
export function assignDraft({ assignee }: AssignDraft, draft: Draft): DraftEvent[] {
  if (draft.status !== "pending") {
    const sentence = `a draft that is ${draft.status} is not assigned to anybody: only one that waits for a decision is`;
    throw new Rejected("invalid_request", sentence, { status: draft.status, conflict: true });
  }
  if (draft.assigneeId === (assignee?.userId ?? null)) return [];
  return [{ type: "DraftAssigned", data: { assignee } }];
}
