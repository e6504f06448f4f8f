import type { Dependencies } from "../../dependencies.ts";
import type { Cause } from "../../handle.ts";
import { type MailReceivedEvent, readMails, readReceived, takeReadBatch, withMemoryFor } from "../readMail.ts";
import { applyPending, recordAndApply } from "./apply.ts";
import { createChains } from "./chains.ts";
import { decideFilings, type FilingPage, isShown, withReadResult } from "./decide.ts";

/** Maximum number of mails decided and applied together, with one append for all decisions and one that marks them as filed. */
const pageSize = 50;

/**
 * Files all mail received for an identity, one page after the other: decides, reads, records and applies (src/receiving.md, "Steps"). Safe
 * to run twice concurrently and to interrupt anywhere, because the next run applies what is recorded. A mail that cannot be recorded is
 * quarantined, so that later mails are filed. Throws Unavailable if storage is unreachable.
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
      // Mail received after this read has its own event, which starts filing again.
      if (isRest && filed === received.length) return;
      // No decision was recorded, so `chains` must not contain them.
      if (filed === 0) chains = createChains();
    }
  }
}

/** Files a page. Returns how many of its first mails were filed; 0 if another filer was faster, whose decisions the next turn applies. */
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
