import type { Recorded } from "../event.ts";
import { type Draft, openChangesRequest } from "./draft.ts";
import type { ApprovalRequest, DraftEvent } from "./events.ts";
import { requestsAbout } from "./notification.ts";

/** Commands about a pending version that nobody decided about while the links of its requests worked. */
export type ExpiryCommand =
  /**
   * Every request about the version has run out. Takes effect once for each time `ranOutAt` at which they did. `at`: now; `until`: time
   * until which links made now work; `askAgain`: the approvers are asked once more.
   */
  | { type: "ExpireRequests"; ranOutAt: string; at: string; until: string; askAgain: boolean }
  /** The holder of an expired link asks for a new request, through the channel that the link's address is now. */
  | ({ type: "RenewRequest"; slot: ApprovalRequest["channel"]["slot"] } & RenewalPress);

/**
 * A press on the page of an expired link. `notificationId`: the link's request. `throttleSeconds`: minimum time between requests to notify,
 * whoever makes them. `over`: requests whose channel the identity no longer has, so that they decide nothing.
 */
type RenewalPress = { at: string; notificationId: string; throttleSeconds: number; over: readonly string[] };

/** Minimum time in milliseconds between two renewals by one link: anybody with an old link may ask for one. */
const betweenRenewalsMs = 3_600_000;

export function decideExpiry(command: ExpiryCommand, draft: Draft): DraftEvent[] {
  if (draft.status !== "pending" || openChangesRequest(draft) !== null) return [];
  if (command.type === "RenewRequest") {
    const { at, slot, notificationId } = command;
    return whyNotRenewed(draft, command) ? [] : [{ type: "NotifyRequested", data: { at, slot, notificationId } }];
  }
  const { ranOutAt, at, until, askAgain } = command;
  if (requestsRunOutAt(draft) !== ranOutAt || ranOutAt > at) return [];
  const { version } = draft;
  return [
    askAgain ? { type: "RequestsRepeated", data: { version, until } } : { type: "RequestsExpired", data: { version } },
  ];
}

/**
 * Returns the time (ISO 8601) at which every request about the draft's version has run out. Null if nobody was asked about it, or if it was
 * marked as expired since.
 */
export function requestsRunOutAt(draft: Draft): string | null {
  const { expired, repeated } = draft.notified;
  const asked = requestsAbout(draft);
  if (expired || asked.length === 0) return null;
  const ends = asked.map(({ expiresAt }) => expiresAt);
  return [...ends, ...(repeated?.version === draft.version ? [repeated.until] : [])].sort().at(-1) ?? null;
}

/**
 * True if the service asked once more after the newest request that something else caused: the submission, an escalation, a new approver, a
 * request to notify. Reads the draft's whole history.
 */
export function wasAskedOnceMore(history: readonly Recorded<DraftEvent>[], version: number): boolean {
  const repetitions = history.filter(({ type }) => type === "RequestsRepeated").map(({ id }) => id);
  const last = history.findLast(
    ({ type, data }) =>
      type === "RequestsRepeated" || (type === "ApproversAsked" && !repetitions.includes(data.causedBy)),
  );
  return last?.type === "RequestsRepeated" && last.data.version === version;
}

/**
 * Returns why a link's holder is not asked again: `live` if links about the version can decide, or are on their way; `recent` if this link,
 * or anybody within the throttle, asked a moment ago. Undefined if the holder can be asked.
 */
export function whyNotRenewed(draft: Draft, { at, notificationId, throttleSeconds, over }: RenewalPress) {
  const { failed, closed, renewedAt, requestedAt } = draft.notified;
  const isLive = ({ notificationId: id, expiresAt }: ApprovalRequest) =>
    expiresAt > at && !failed.includes(id) && closed[id] === undefined && !over.includes(id);
  if (requestsAbout(draft).some(isLive)) return "live";
  const isWithin = (since: string | null | undefined, ms: number) =>
    typeof since === "string" && Date.parse(at) - Date.parse(since) < ms;
  if (isWithin(renewedAt[notificationId], betweenRenewalsMs) || isWithin(requestedAt, throttleSeconds * 1000))
    return "recent";
  return undefined;
}
