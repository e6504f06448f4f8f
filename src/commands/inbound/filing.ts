import { crashPoint } from "#src/crashPoints.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { decideFilings } from "./filingDecisions.ts";
import { carryOut } from "./filingOut.ts";
import { holdWhereNeeded } from "./heldMail.ts";
import {
  bytesOf,
  mailRoom,
  type ReadMail,
  type Received,
  readMail,
  readTogether,
  receivedAt,
  receivedFrom,
} from "./readMail.ts";

/** Mails decided and carried out together: one append for all their decisions, one for "filed". */
const pageSize = 50;
/** The decisions of one append, in bytes of JSON: well below what a store takes at once (eventStore.ts), metadata included. */
const maxDecisionBytes = 500_000;

/**
 * Files everything received for an identity: decisions first, then what they say (src/README.md, "Receiving and filing"). Safe to run
 * twice at once and to be cut off anywhere: the next run carries out what is recorded. Throws Unavailable if storage is away.
 */
export async function fileInbox(deps: Dependencies, identityId: string, cause: Cause): Promise<void> {
  for (;;) {
    const { state: filing } = await deps.filings.load(identityId);
    if (filing.pending.length > 0) {
      const { pending } = filing;
      const left = await Promise.all(pending.map((each) => receivedAt(deps, identityId, each.inboxRevision)));
      await mailRoom.take(bytesOf(left), () =>
        finishFilings(deps, { identityId, decisions: pending, mails: new Map() }, cause),
      );
      continue;
    }
    const received = await receivedFrom(deps, identityId, { from: filing.decidedUpTo + 1, count: pageSize });
    if (received.length === 0) return;
    const page = readTogether(received);
    const { lastNumber } = filing;
    await mailRoom.take(bytesOf(page), () => filePage(deps, { identityId, lastNumber, page }, cause));
  }
}

async function filePage(
  deps: Dependencies,
  { identityId, lastNumber, page }: { identityId: string; lastNumber: number; page: readonly Received[] },
  cause: Cause,
): Promise<void> {
  const mails = await Promise.all(page.map((event) => readMail(deps, event)));
  const unfiled = mails.map(({ event, parsed }) => ({
    deliveryId: event.data.deliveryId,
    inboxRevision: event.revision,
    inboxPosition: event.position,
    headers: event.data.headers,
    unreadable: parsed.unreadable,
  }));
  const { workspaceId } = (page[0] as Received).data;
  const decided = oneAppend(await decideFilings(deps, { identityId, lastNumber, page: unfiled }));
  const decisions = await holdWhereNeeded(deps, { workspaceId, identityId, decisions: decided }, cause);
  const command = { type: "DecideFiling", decisions } as const;
  const recorded = await deps.filings.handle(identityId, command, cause);
  // Another filer was faster: its decisions count, and the next turn carries them out.
  if (!recorded.changed) return;
  crashPoint("filing:decided");
  const byRevision = new Map(mails.map((mail) => [mail.event.revision, mail]));
  await finishFilings(deps, { identityId, decisions, mails: byRevision }, cause);
}

/** As many as fit into one append, from the first: mails that refer to many others make long decisions. The rest waits for the next turn. */
export function oneAppend(decisions: readonly FilingDecision[]): FilingDecision[] {
  let bytes = 0;
  const end = decisions.findIndex((decision, index) => {
    bytes += Buffer.byteLength(JSON.stringify(decision));
    return index > 0 && bytes > maxDecisionBytes;
  });
  return decisions.slice(0, end < 0 ? undefined : end);
}

/** Decisions of an identity's filing that are to be carried out. `mails`: those that are read already, by revision. */
type Decided = { identityId: string; decisions: readonly FilingDecision[]; mails: Map<number, ReadMail> };

/** Carries decisions out and says that they are filed. */
export async function finishFilings(
  deps: Dependencies,
  { identityId, decisions, mails }: Decided,
  cause: Cause,
): Promise<void> {
  const mailOf = async ({ inboxRevision }: FilingDecision): Promise<ReadMail> =>
    mails.get(inboxRevision) ?? readMail(deps, await receivedAt(deps, identityId, inboxRevision));
  await carryOut(deps, { decisions, mailOf }, cause);
  const last = decisions.at(-1) as FilingDecision;
  const inboxRevision = Math.max(...decisions.map((decision) => decision.inboxRevision));
  const command = { type: "MarkFiled", number: last.number, inboxRevision } as const;
  await deps.filings.handle(identityId, command, cause);
  crashPoint("filing:filed");
}
