import { Rejected } from "../decider.ts";
import { type Press, recordUnconfirmedPress } from "./confirmation.ts";
import { type Draft, openChangesRequest, requireStatus } from "./draft.ts";
import type { DraftEvent } from "./events.ts";
import { requireOpenLink } from "./notification.ts";
import { isSamePerson } from "./quorum.ts";
import { requireShown } from "./shown.ts";

/** Names by which an approver is recognised (quorum.ts). */
type Requester = { requester: string; also?: readonly string[] };

export type ChangesCommand =
  /** An approver asks the agent to change the version that was shown. `text`: the requested changes, in the approver's words. */
  | ({ type: "RequestChanges"; text: string; ifVersion: number | null; contentSha256: string | null } & Requester &
      Press)
  /** The approver who asked for changes takes the request back. */
  | ({ type: "WithdrawChangesRequest" } & Requester)
  /** The requested changes were not made in time. Takes effect once for each request. */
  | { type: "RemindOfChanges" };

export function decideChanges(command: ChangesCommand, draft: Draft): DraftEvent[] {
  switch (command.type) {
    case "RequestChanges":
      return requestChanges(command, draft);
    case "WithdrawChangesRequest": {
      const open = openChangesRequest(draft);
      if (open === null) return [];
      if (!isSamePerson(voterOf(open), voterOf(command))) throw notRequester(draft);
      return [{ type: "ChangesRequestWithdrawn", data: { version: draft.version } }];
    }
    case "RemindOfChanges": {
      const open = openChangesRequest(draft);
      if (open === null || open.reminded) return [];
      return [{ type: "ChangesReminded", data: { version: draft.version } }];
    }
  }
}

const voterOf = ({ requester, also }: Requester) => ({ voter: requester, ...(also && { also }) });

/**
 * Records the request. The same request by the same approver is already so. Throws Rejected invalid_status, version_mismatch, link_closed,
 * and changes_requested if another request is open.
 */
function requestChanges(command: Extract<ChangesCommand, { type: "RequestChanges" }>, draft: Draft): DraftEvent[] {
  const { text, ifVersion, contentSha256, tokenSha256, requester, also } = command;
  requireStatus(draft, "returned to the agent for changes", "pending");
  requireShown(ifVersion, contentSha256, draft);
  requireOpenLink(draft, tokenSha256);
  const open = openChangesRequest(draft);
  if (open !== null && open.text === text && isSamePerson(voterOf(open), voterOf(command))) return [];
  requireNoChangesRequest(draft);
  const names = also === undefined || also.length === 0 ? {} : { also: [...also] };
  const data = { version: draft.version, contentSha256: draft.contentSha256, text, tokenSha256, requester, ...names };
  return recordUnconfirmedPress(command, draft) ?? [{ type: "ChangesRequested", data }];
}

/** Refuses to approve or send a draft while an approver waits for changes. Throws Rejected changes_requested. */
export function requireNoChangesRequest(draft: Draft): void {
  const open = openChangesRequest(draft);
  if (open === null) return;
  const { text, version } = open;
  throw new Rejected(
    "changes_requested",
    "an approver asked for changes to this draft: edit it (PATCH), or the approver withdraws the request",
    { text, version },
  );
}

const notRequester = ({ status }: Draft): Rejected => {
  const sentence = "only the approver who asked for changes can withdraw the request: edit the draft instead";
  return new Rejected("invalid_status", sentence, { status });
};
