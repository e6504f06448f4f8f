import { createHash } from "node:crypto";
import { domainOfAddress } from "#src/platform/dns/names.ts";
import type { AnsweredBy } from "#streams/answeredAddress/events.ts";
import { type Draft, isByGrant } from "#streams/draft/draft.ts";
import { withoutTag } from "#streams/emailAddress/untagged.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import type { Cause } from "../handle.ts";

/**
 * Hash that names a workspace's stream of answers to an address, whatever its tag, for which ticket systems make a new one for each mail,
 * and in whichever form its domain is written.
 */
function answeredHash(workspaceId: string, address: string): string {
  const untagged = withoutTag(address.toLowerCase());
  const name = untagged.slice(0, untagged.lastIndexOf("@"));
  return createHash("sha256")
    .update(`${workspaceId} ${name}@${domainOfAddress(untagged)}`)
    .digest("hex");
}

/**
 * Counts an answer that no person approved, once, for each of its recipients (To), and refuses it beyond the limits
 * (AUTO_ANSWERS_PER_ADDRESS). A draft that answers no message is not counted. Throws Rejected loop_guarded.
 */
export async function countAnswer(
  deps: Dependencies,
  { draftId, draft, by }: { draftId: string; draft: Draft; by: AnsweredBy },
  cause: Cause,
): Promise<void> {
  const { autoAnswers: limits = [] } = deps.settings;
  const { workspaceId, basedOnMessageId: messageId, basedOnReceivedAt: receivedAt } = draft;
  if (limits.length === 0 || messageId === null || receivedAt === null) return;
  const { to } = await loadContent(deps.blobs, draft.stored);
  const isMachine = draft.machineAddresses.length > 0 || draft.looksAutomatic;
  const at = deps.clock.now().toISOString();
  const answer = {
    workspaceId,
    draftId,
    messageId,
    receivedAt,
    at,
    by,
    ...(isMachine && { isMachine: true as const }),
  };
  for (const address of to) {
    const hash = answeredHash(workspaceId, address);
    // A counted answer stays counted, so a cached state suffices to find one.
    const known = deps.answeredAddresses.kept(hash)?.state.answers ?? [];
    if (known.some((each) => each.messageId === messageId)) continue;
    await deps.answeredAddresses.handle(hash, { type: "CountAnswer", answer, limits }, { ...cause, workspaceId });
  }
}

/** Returns who decided that a draft is sent, if it was no person: a key whose send is asked for now, or a rule or setting before. */
export function decidedWithoutPerson({ approval }: Pick<Draft, "approval">, byKey: boolean): AnsweredBy | null {
  if (approval?.by === "person") return null;
  if (byKey || approval?.by === "key") return "key";
  return isByGrant(approval) ? "grant" : null;
}
