import { allowedUsersOf } from "#src/channels/allowedUsers.ts";
import type { DecideRequest, DecisionResult, LinkResult } from "#src/channels/approvalDecisions.ts";
import type { Guard } from "#src/eventStore/eventStore.ts";
import { codeTriesLeft } from "#streams/draft/confirmation.ts";
import type { DraftCommand } from "#streams/draft/decider.ts";
import { findToken } from "#streams/draft/notification.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import type { LinkedDraft } from "./approvalTokens.ts";
import { channelOf } from "./askApprovers.ts";
import { confirmCodeMacs } from "./confirmCodes.ts";
import { recentEvents } from "./draftVersions.ts";
import { decidedAlready, type LinkDependencies } from "./linkOutcomes.ts";

/** A decision to be judged by the draft's stream, with the MACs of the confirmation code that the approver typed. */
export type CodedPress = Omit<LinkedDraft, "judgedBy"> & {
  /** Guards on the identity and the workspace at the revisions at which the press was judged. */
  judgedBy: readonly Guard[];
  codeMacs: readonly string[] | undefined;
  isWrongCode: boolean;
  undoable: boolean;
};

/** Returns the result that says why a link or button cannot decide now; else the guards under which it can. */
export async function mayPress(
  deps: LinkDependencies,
  link: LinkedDraft,
  { by }: Pick<DecideRequest, "by">,
): Promise<{ refused: LinkResult } | { judgedBy: readonly Guard[] }> {
  const { draft, asked } = link;
  if (asked.closed) return { refused: { kind: "closed", because: asked.closed } };
  if (asked.version !== draft.version)
    return { refused: (await isOwnEdit(deps, link)) ? await decidedAlready(deps, link) : { kind: "changed" } };
  if (draft.status !== "pending") return { refused: await decidedAlready(deps, link) };
  if (Date.parse(asked.expiresAt) <= deps.clock.now().getTime()) return { refused: { kind: "expired" } };
  if (!by && (await isForNamedUsers(deps, link))) return { refused: { kind: "in_chat_only" } };
  const workspace = await deps.workspaces.load(draft.workspaceId);
  if (!by && workspace.state.requireNamedApprovers) return { refused: { kind: "sign_in_required" } };
  return { judgedBy: [link.judgedBy, { stream: workspaceStream(draft.workspaceId), revision: workspace.revision }] };
}

/** True if the draft's newest version was edited and approved by this very link or button, and that approval was not undone. */
export async function isOwnEdit(
  deps: Pick<Dependencies, "store">,
  { draftId, draft, asked, tokenSha256 }: LinkedDraft,
): Promise<boolean> {
  if (draft.version !== asked.version + 1) return false;
  if (draft.status === "pending") return draft.votes.some((vote) => vote.tokenSha256 === tokenSha256);
  const { events } = await recentEvents(deps.store, draftId);
  return events.some(
    ({ type, data }) =>
      (type === "DraftApproved" || type === "ApprovalGiven") &&
      data.version === draft.version &&
      data.tokenSha256 === tokenSha256,
  );
}

export function judgedCode(
  deps: Dependencies,
  { notificationId, confirmCode }: LinkedDraft["asked"],
  code: string | undefined,
): Pick<CodedPress, "codeMacs" | "isWrongCode"> {
  const codeMacs = code === undefined ? undefined : confirmCodeMacs(deps, notificationId, code);
  return { codeMacs, isWrongCode: confirmCode !== undefined && !codeMacs?.includes(confirmCode) };
}

/** Keeps the earliest guard of each stream: the state that was read first must still be current at the append. */
export const oncePerStream = (guards: readonly Guard[]): Guard[] => [
  ...new Map([...guards].reverse().map((guard) => [guard.stream, guard])).values(),
];

/**
 * Records a wrong confirmation code. The stream receives the same command as for a right code, so that concurrent tries are judged in order
 * and a right code is not accepted out of turn.
 */
export async function refuseCode(
  deps: LinkDependencies,
  { press, command }: { press: CodedPress; command: DraftCommand },
  cause: Cause,
): Promise<DecisionResult> {
  const { state: draft } = await deps.drafts.handle(press.draftId, command, cause);
  const closed = findToken(draft, press.tokenSha256)?.closed;
  if (closed) return { kind: "closed", because: closed };
  if (draft.status !== "pending") return decidedAlready(deps, press);
  return { kind: "code_wrong", triesLeft: codeTriesLeft(draft, press.asked.notificationId) };
}

/**
 * True if only named users may decide in this chat. The programs of all members know the button tokens, so a link made from a token must
 * only show the page.
 */
export async function isForNamedUsers(deps: Dependencies, { draft, asked }: LinkedDraft): Promise<boolean> {
  if (asked.channel.type === "email") return false;
  const { state: identity } = await deps.identities.load(draft.identityId);
  return allowedUsersOf(channelOf(identity, asked.channel.slot)?.config ?? {}) !== null;
}
