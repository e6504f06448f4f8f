import { crashPoint } from "#src/crashPoints.ts";
import { type Filing, isHeld, type PendingFiling } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { oneLook } from "../states/oneLook.ts";
import { asRead } from "./asRead.ts";
import { type Chains, createChains } from "./chains.ts";
import { decideFilings } from "./filingDecisions.ts";
import { carryOut } from "./filingOut.ts";
import { askWhetherHeld, holdWhereNeeded } from "./heldMail.ts";
import { noContent, smallestDecision } from "./quarantined.ts";
import {
  type ReadMail,
  type Received,
  readMail,
  readMails,
  readTogether,
  receivedAt,
  receivedFrom,
  tellOfLost,
  withRoom,
} from "./readMail.ts";
import { isForGood, quarantine, reasonOf, tellOfQuarantine } from "./unrecordable.ts";

/** Mails decided and carried out together: one append for all their decisions, one for "filed". */
const pageSize = 50;

/**
 * Files everything received for an identity: decisions first, then what they say (src/README.md, "Receiving and filing"). Safe to run
 * twice at once and to be cut off anywhere: the next run carries out what is recorded. A mail that cannot be recorded is quarantined, and
 * those behind it go on. Throws Unavailable if storage is away.
 */
export async function fileInbox(deps: Dependencies, identityId: string, cause: Cause): Promise<void> {
  let chains = createChains();
  let { filing, received } = await firstLook(deps, identityId);
  let isRest = received.length < pageSize;
  for (;;) {
    if (filing.pending.length > 0) {
      const { pending } = filing;
      const left = await Promise.all(pending.map((each) => receivedAt(deps, identityId, each.inboxRevision)));
      await withRoom(left, () => finishFilings(deps, { identityId, decisions: pending, mails: new Map() }, cause));
    } else {
      const from = filing.decidedUpTo + 1;
      received = received.filter(({ revision }) => revision >= from);
      if (received.length === 0) {
        received = await receivedFrom(deps, identityId, { from, count: pageSize });
        isRest = received.length < pageSize;
      }
      if (received.length === 0) return;
      const page = readTogether(received);
      const { lastNumber } = filing;
      const filed = await filePage(deps, { identityId, lastNumber, page, chains }, cause);
      // Whatever came since is told of by itself.
      if (isRest && filed === received.length) return;
      // What was decided but not recorded is not so.
      if (filed === 0) chains = createChains();
    }
    filing = (await deps.filings.load(identityId)).state;
  }
}

/** How far filing is, and in one turn with it what has come since it was last known here. */
async function firstLook(deps: Dependencies, identityId: string): Promise<{ filing: Filing; received: Received[] }> {
  const kept = deps.filings.kept(identityId);
  const range = kept && { from: kept.state.decidedUpTo + 1, count: pageSize };
  const [{ state: filing }, received] = await Promise.all([
    deps.filings.load(identityId),
    range ? receivedFrom(deps, identityId, range) : [],
  ]);
  return { filing, received };
}

type Page = { identityId: string; lastNumber: number; page: readonly Received[]; chains: Chains };

/**
 * Decides by the headers first: what came before already, and what is held, is not read. Answers how many were filed, from the first; none if another
 * filer was faster: its decisions count, and the next turn carries them out.
 */
async function filePage(
  deps: Dependencies,
  { identityId, lastNumber, page, chains }: Page,
  cause: Cause,
): Promise<number> {
  const unfiled = page.map((event) => ({
    deliveryId: event.data.deliveryId,
    inboxRevision: event.revision,
    inboxPosition: event.position,
    headers: event.data.headers,
  }));
  const { workspaceId } = (page[0] as Received).data;
  const look = oneLook(deps);
  askWhetherHeld(look, { workspaceId, identityId });
  const byHeaders = await decideFilings(deps, { identityId, lastNumber, page: unfiled }, chains);
  const decided = await holdWhereNeeded(look, { workspaceId, identityId, decisions: byHeaders }, cause);
  const shown = new Set(decided.filter(isShown).map(({ inboxRevision }) => inboxRevision));
  const toRead = page.filter(({ revision }) => shown.has(revision));
  return withRoom(toRead, async () => {
    const read = await readMails(deps, toRead);
    const mails = new Map(read.map((mail) => [mail.event.revision, mail]));
    const decisions = decided.map((decision) => {
      const mail = mails.get(decision.inboxRevision);
      return mail ? asRead(decision, mail) : decision;
    });
    const recorded = await recordDecisions(deps, { identityId, decisions }, cause);
    if (!recorded) return 0;
    tellOfLost(deps, read);
    crashPoint("filing:decided");
    await finishFilings(deps, { identityId, decisions: recorded, mails }, cause);
    return decided.length;
  });
}

const isShown = (decision: FilingDecision): boolean => decision.disposition !== "duplicate" && !isHeld(decision);

/**
 * Appends decisions, all together; if that can never be, each by itself, and in its smallest form the one that cannot. Answers them as they are
 * to be carried out; undefined if another filer was faster.
 */
async function recordDecisions(
  deps: Dependencies,
  { identityId, decisions }: { identityId: string; decisions: FilingDecision[] },
  cause: Cause,
): Promise<PendingFiling[] | undefined> {
  try {
    const { changed, state } = await deps.filings.handle(identityId, { type: "DecideFiling", decisions }, cause);
    return changed ? state.pending : undefined;
  } catch (error) {
    if (!isForGood(error)) throw error;
    if (decisions.length === 1) {
      return recordSmallest(deps, { identityId, decision: decisions[0] as FilingDecision, error }, cause);
    }
  }
  let recorded: PendingFiling[] | undefined;
  for (const decision of decisions) {
    recorded = await recordDecisions(deps, { identityId, decisions: [decision] }, cause);
    if (!recorded) return undefined;
  }
  return recorded;
}

async function recordSmallest(
  deps: Dependencies,
  { identityId, decision, error }: { identityId: string; decision: FilingDecision; error: unknown },
  cause: Cause,
): Promise<PendingFiling[] | undefined> {
  const quarantine = reasonOf(error);
  const decisions = [smallestDecision(decision, quarantine)];
  const command = { type: "DecideFiling", decisions, quarantine } as const;
  const { changed, state } = await deps.filings.handle(identityId, command, cause);
  if (!changed) return undefined;
  tellOfQuarantine(deps, { identityId, deliveryId: decision.deliveryId, error });
  return state.pending;
}

/** Decisions of an identity's filing that are to be carried out. `mails`: those that are read already, by revision. */
type Decided = { identityId: string; decisions: readonly PendingFiling[]; mails: Map<number, ReadMail> };

/** Carries decisions out and says that they are filed. */
export async function finishFilings(
  deps: Dependencies,
  { identityId, decisions, mails }: Decided,
  cause: Cause,
): Promise<void> {
  const mailOf = async (decision: PendingFiling): Promise<ReadMail> => {
    const { inboxRevision } = decision;
    const known = mails.get(inboxRevision);
    if (known) return known;
    const event = await receivedAt(deps, identityId, inboxRevision);
    const mail =
      isHeld(decision) || decision.quarantined !== undefined
        ? { event, parsed: noContent }
        : await readMail(deps, event);
    // One that was decided as lost has been told of.
    if (decision.disposition !== "quarantined") tellOfLost(deps, [mail]);
    mails.set(inboxRevision, mail);
    return mail;
  };
  for (let left = decisions; left.length > 0; ) {
    const { failures, waiting } = await carryOut(deps, { decisions: left, mailOf }, cause);
    for (const failure of failures) await quarantine(deps, identityId, { failure, cause });
    left = await asTheyStand(deps, identityId, [...failures.map(({ decision }) => decision), ...waiting]);
  }
  const last = decisions.at(-1) as FilingDecision;
  const inboxRevision = Math.max(...decisions.map((decision) => decision.inboxRevision));
  const command = { type: "MarkFiled", number: last.number, inboxRevision } as const;
  await deps.filings.handle(identityId, command, cause);
  crashPoint("filing:filed");
}

/** These decisions as they are to be carried out now; those that another filer has carried out are left out. */
async function asTheyStand(
  deps: Dependencies,
  identityId: string,
  decisions: readonly FilingDecision[],
): Promise<PendingFiling[]> {
  if (decisions.length === 0) return [];
  const numbers = new Set(decisions.map(({ number }) => number));
  const { state } = await deps.filings.load(identityId);
  return state.pending.filter(({ number }) => numbers.has(number));
}
