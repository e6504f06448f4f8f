import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type FilingDecision, type FilingEvent, filingStream, type HeldMailExpiry, type MailExpiry } from "./events.ts";
import { addHeld, emptyHeldLine, type HeldLine, isNextInLine, withoutHeld } from "./heldLine.ts";

/** A decision that is to be carried out. */
export type PendingFiling = FilingDecision & {
  /** Filed by a marker only: "in place" on the thread that was decided, or "apart" on a new one (MailQuarantined). Absent: as decided. */
  quarantined?: "in place" | "apart";
};

export type Filing = {
  /** The stream's newest revision; -1 before the first event. */
  revision: number;
  /** The newest filing number; 0 before the first. */
  lastNumber: number;
  /** Revision of the inbox up to which all mail has a decision; -1 before the first. */
  decidedUpTo: number;
  /** Revision of the inbox up to which all mail is on its thread; -1 before the first. */
  filedUpTo: number;
  /** Decisions not carried out yet, oldest first: at most one page of a filer. */
  pending: PendingFiling[];
  /** Mail filed as markers without content and not released yet. */
  held: HeldLine;
  /** Deliveries that were filed by hand last, at most 200: each is filed so once. */
  filedByHand: readonly string[];
  /** Number of the quarantined mail that expired last (they expire in the order of their numbers); 0 before the first. */
  quarantineExpiredUpTo: number;
};

/** True if the mail is a message of its thread, shown or held. */
export const isMessage = ({ disposition }: Pick<FilingDecision, "disposition">): boolean =>
  disposition !== "duplicate" && disposition !== "own_copy" && disposition !== "reaction";

export const isHeld = ({ disposition }: Pick<FilingDecision, "disposition">): boolean =>
  disposition === "held_over_quota" || disposition === "held_identity_disabled";

/** `after`: the marker that precedes these in the line, as it was read. */
export type ReadInLine = { after: number };

export type FilingCommand =
  /** `quarantine`: reason why the single decision is a smaller substitute for one that cannot be recorded. */
  | { type: "DecideFiling"; decisions: FilingDecision[]; quarantine?: string }
  | ({ type: "DecideRelease"; decisions: FilingDecision[] } & ReadInLine)
  /** Files a mail as a message that was put aside, once. */
  | { type: "DecideByHand"; decision: FilingDecision }
  | { type: "QuarantineMail"; number: number; reason: string; threadId: string | null }
  | { type: "MarkFiled"; number: number; inboxRevision: number }
  /** Expires the mails held longest. */
  | ({ type: "ExpireHeld"; mails: HeldMailExpiry[] } & ReadInLine)
  /** Expires quarantined mails in the order of their numbers. The caller has read in this stream that they are quarantined. */
  | { type: "ExpireQuarantined"; mails: MailExpiry[] };

function evolve(before: Filing, event: FilingEvent): Filing {
  const filing = { ...before, revision: before.revision + 1 };
  switch (event.type) {
    case "FilingDecided":
      return {
        ...filing,
        lastNumber: event.data.number,
        decidedUpTo: Math.max(filing.decidedUpTo, event.data.inboxRevision),
        pending: [...filing.pending, event.data],
        filedByHand: event.data.byHand
          ? [...filing.filedByHand, event.data.deliveryId].slice(-maxFiledByHand)
          : filing.filedByHand,
        held: addHeld(filing.held, {
          decision: event.data,
          isHeld: isHeld(event.data),
          revision: filing.revision,
        }),
      };
    case "MailFiled":
      return {
        ...filing,
        filedUpTo: Math.max(filing.filedUpTo, event.data.inboxRevision),
        pending: filing.pending.filter((decision) => decision.number > event.data.number),
      };
    case "MailQuarantined":
      return {
        ...filing,
        pending: filing.pending.map((each) =>
          each.number === event.data.number ? asQuarantined(each, event.data) : each,
        ),
      };
    case "HeldMailExpired": {
      const { number, markerRevision: revision } = event.data;
      return { ...filing, held: withoutHeld(filing.held, { number, revision }) };
    }
    case "QuarantinedMailExpired":
      return { ...filing, quarantineExpiredUpTo: Math.max(filing.quarantineExpiredUpTo, event.data.number) };
    default:
      return unreachable(event);
  }
}

/** Deliveries filed by hand that are remembered, at most: a request is repeated within minutes. */
const maxFiledByHand = 200;

/** Marks a decision as quarantined. A held mail stays held, as its marker shows no content anyway. */
function asQuarantined(
  decision: PendingFiling,
  { reason, threadId }: { reason: string; threadId: string | null },
): PendingFiling {
  const isShown = isMessage(decision) && !isHeld(decision);
  const judged = isShown ? { ...decision, disposition: "quarantined" as const, reason } : decision;
  if (threadId === null) return { ...judged, quarantined: "in place" };
  return { ...judged, quarantined: "apart", threadId, opensThread: true, absorbs: [] };
}

function decide(command: FilingCommand, filing: Filing): FilingEvent[] {
  switch (command.type) {
    case "DecideFiling":
      return decideFiling(command, filing);
    case "DecideRelease":
      return release(command, filing);
    case "DecideByHand": {
      const { decision } = command;
      const isNext = decision.number === filing.lastNumber + 1 && filing.pending.length === 0;
      if (!isNext || filing.filedByHand.includes(decision.deliveryId)) return [];
      return [{ type: "FilingDecided", data: { ...decision, byHand: true } }];
    }
    case "QuarantineMail":
      return quarantine(command, filing);
    case "MarkFiled": {
      const newly = filing.pending.some(({ number }) => number <= command.number);
      if (!newly && command.inboxRevision <= filing.filedUpTo) return [];
      return [{ type: "MailFiled", data: { number: command.number, inboxRevision: command.inboxRevision } }];
    }
    case "ExpireHeld":
      return expireHeld(command, filing);
    case "ExpireQuarantined":
      return expireQuarantined(command, filing);
    default:
      return unreachable(command);
  }
}

function decideFiling(
  { decisions, quarantine: reason }: Extract<FilingCommand, { type: "DecideFiling" }>,
  filing: Filing,
): FilingEvent[] {
  const next = decisions[0];
  // Another filer has decided about these mails in between: its recorded decisions count.
  if (!next || next.inboxRevision !== filing.decidedUpTo + 1 || next.number !== filing.lastNumber + 1) return [];
  const decided = decisions.map((decision): FilingEvent => ({ type: "FilingDecided", data: decision }));
  if (reason === undefined) return decided;
  const { number, deliveryId } = next;
  return [...decided, { type: "MailQuarantined", data: { number, deliveryId, reason, threadId: null } }];
}

/**
 * Releases held mail, only if everything decided before is on its thread, and these are the next held ones: a merge in between would change
 * their threads.
 */
function release(
  { decisions, after }: Extract<FilingCommand, { type: "DecideRelease" }>,
  filing: Filing,
): FilingEvent[] {
  if (decisions[0]?.number !== filing.lastNumber + 1 || filing.pending.length > 0) return [];
  const markers = decisions.map(({ releases }) => releases?.number);
  if (!isNextInLine(filing.held, { markers, after })) return [];
  return decisions.map((decision) => ({ type: "FilingDecided", data: decision }));
}

/**
 * Quarantines in two steps, each once: by a marker in place, then by one on a new thread. Nothing if the decision was carried out
 * meanwhile.
 */
function quarantine(
  { number, reason, threadId }: Extract<FilingCommand, { type: "QuarantineMail" }>,
  filing: Filing,
): FilingEvent[] {
  const decision = filing.pending.find((each) => each.number === number);
  if (!decision || decision.quarantined === "apart") return [];
  if (threadId === null && decision.quarantined !== undefined) return [];
  return [{ type: "MailQuarantined", data: { number, deliveryId: decision.deliveryId, reason, threadId } }];
}

/** Expires held mail. Released mail, and mail decided to be released, is no longer in the line. */
function expireHeld({ mails, after }: Extract<FilingCommand, { type: "ExpireHeld" }>, filing: Filing): FilingEvent[] {
  if (!areFiled(mails, filing) || !isNextInLine(filing.held, { markers: numbersOf(mails), after })) return [];
  return mails.map((data) => ({ type: "HeldMailExpired", data }));
}

function expireQuarantined(
  { mails }: Extract<FilingCommand, { type: "ExpireQuarantined" }>,
  filing: Filing,
): FilingEvent[] {
  const numbers = numbersOf(mails);
  const isInOrder = numbers.every((number, index) => number > (numbers[index - 1] ?? filing.quarantineExpiredUpTo));
  if (!areFiled(mails, filing) || !isInOrder) return [];
  return mails.map((data) => ({ type: "QuarantinedMailExpired", data }));
}

const numbersOf = (mails: readonly MailExpiry[]): number[] => mails.map(({ number }) => number);

/** True if all are carried out: an open decision still needs the mail, which may yet be quarantined. */
const areFiled = (mails: readonly MailExpiry[], { pending, lastNumber }: Filing): boolean =>
  mails.every(({ number }) => number < (pending[0]?.number ?? lastNumber + 1));

export const filingDecider: Decider<Filing, FilingCommand, FilingEvent> = {
  category: "filing",
  initial: {
    revision: -1,
    lastNumber: 0,
    decidedUpTo: -1,
    filedUpTo: -1,
    pending: [],
    held: emptyHeldLine,
    filedByHand: [],
    quarantineExpiredUpTo: 0,
  },
  evolve,
  decide,
};

export const filings = stream({ decider: filingDecider, name: filingStream });
