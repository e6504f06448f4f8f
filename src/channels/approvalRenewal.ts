import type { UndoRequest } from "./approvalDecisions.ts";

/** The place to which an expired link's request was sent: a mailbox, as the identity has it now, or a chat. */
export type RenewalPlace = { type: "email"; address: string } | { type: "telegram" | "slack" };

/**
 * The answer to the holder of an expired link, of one draft or of a list, about being asked again. `possible`: the holder can be asked
 * again. `requested`: this press did it. `live`: a newer link about the draft can decide, or is on its way. `recent`: a new request was
 * made a moment ago. `stopped`: the mailbox has stopped the workspace's mail. `elsewhere`: the link's address is no channel that is asked
 * about the draft. `changes_requested`: the agent makes changes first. `decided`: no draft behind the link waits for a decision.
 */
export type Renewal = {
  workspaceId: string;
  /** Free text by the workspace. */
  workspaceName: string;
} & (
  | { kind: "possible" | "requested" | "stopped"; place: RenewalPlace }
  | { kind: "live" | "recent" | "elsewhere" | "changes_requested" | "decided" }
);

/** A press on the button of an expired link's page. */
export type RenewalRequest = UndoRequest;

/** Port of the pages of expired links. Throws Unavailable (src/eventStore/eventStore.ts). Undefined for a token that was never issued. */
export type ApprovalRenewals = {
  /** Reads only. */
  renewal(token: string): Promise<Renewal | undefined>;
  /** Has the link's holder asked again about each draft behind the link for which that is possible. */
  renew(request: RenewalRequest): Promise<Renewal | undefined>;
};
