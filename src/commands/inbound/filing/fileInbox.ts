import type { Dependencies } from "../../dependencies.ts";
import type { Cause } from "../../handle.ts";
import { type MailReceivedEvent, readMails, readReceived, takeReadBatch, withMemoryFor } from "../readMail.ts";
import { applyPending, recordAndApply } from "./apply.ts";
import { createChains } from "./chains.ts";
import { decideFilings, type FilingPage, isShown, withReadResult } from "./decide.ts";

/** Mails decided and applied together: one append for all decisions, one for marking them as filed. */
const pageSize = 50;

/**
 * Files all mail received for an identity, a page at a time: decide, read, record and apply (src/receiving.md, "Steps"). Safe
 * to run twice at once and to interrupt anywhere: the next run applies what is recorded. A mail that cannot be recorded is quarantined,
 * and later mails are filed. Throws Unavailable if storage is unreachable.
 */
export async function fileInbox(deps: Dependencies, identityId: string, cause: Cause): Promise<void> {
  let chains = createChains();
  let received: MailReceivedEvent[] = [];
  let isRest = false;
  for (;;) {
    const { state: filing } = await deps.filings.load(identityId);
    if (filing.pending.length > 0) {
      await applyPending(deps, { identityId, pending: filing.pending }, cause);
    } else {
      const from = filing.decidedUpTo + 1;
      received = received.filter(({ revision }) => revision >= from);
      if (received.length === 0) {
        received = await readReceived(deps, identityId, { from, count: pageSize });
        isRest = received.length < pageSize;
      }
      if (received.length === 0) return;
      const { lastNumber } = filing;
      const filed = await filePage(deps, { identityId, lastNumber, mails: takeReadBatch(received), chains }, cause);
      // Mail received after that has its own event, which starts filing again.
      if (isRest && filed === received.length) return;
      // Decisions that were not recorded must not be remembered.
      if (filed === 0) chains = createChains();
    }
  }
}

/**
 * Files a page and returns how many mails were filed, from the first; 0 if another filer was faster: the next turn applies its decisions.
 */
async function filePage(deps: Dependencies, page: FilingPage, cause: Cause): Promise<number> {
  const { identityId } = page;
  const decided = await decideFilings(deps, page, cause);
  const shown = new Set(decided.filter(isShown).map(({ inboxRevision }) => inboxRevision));
  const toRead = page.mails.filter(({ revision }) => shown.has(revision));
  return withMemoryFor(deps, toRead, async () => {
    const mails = await readMails(deps, toRead);
    const decisions = decided.map((decision) => withReadResult(decision, mails.get(decision.inboxRevision)));
    const isFiled = await recordAndApply(deps, { identityId, decisions, mails }, cause);
    return isFiled ? decided.length : 0;
  });
}
