import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type FilingDecision, type FilingEvent, filingStream } from "./events.ts";

export type Filing = {
  /** The newest filing number; 0 before the first. */
  lastNumber: number;
  /** Everything up to this revision of the inbox has a decision; -1 before the first. */
  decidedUpTo: number;
  /** Everything up to this revision of the inbox is in its thread; -1 before the first. */
  filedUpTo: number;
  /** Decided and not yet carried out, oldest first. */
  pending: FilingDecision[];
  /** Filed as markers without content, and not released yet, oldest first. */
  held: readonly FilingDecision[];
};

export const isHeld = ({ disposition }: Pick<FilingDecision, "disposition">): boolean =>
  disposition === "held_over_quota" || disposition === "held_identity_disabled";

export type FilingCommand =
  | { type: "DecideFiling"; decisions: FilingDecision[] }
  | { type: "DecideRelease"; decisions: FilingDecision[] }
  | { type: "MarkFiled"; number: number; inboxRevision: number };

function evolve(filing: Filing, event: FilingEvent): Filing {
  switch (event.type) {
    case "FilingDecided":
      return {
        ...filing,
        lastNumber: event.data.number,
        decidedUpTo: Math.max(filing.decidedUpTo, event.data.inboxRevision),
        pending: [...filing.pending, event.data],
        held: heldAfter(filing.held, event.data),
      };
    case "MailFiled":
      return {
        ...filing,
        filedUpTo: Math.max(filing.filedUpTo, event.data.inboxRevision),
        pending: filing.pending.filter((decision) => decision.number > event.data.number),
      };
    default:
      return unreachable(event);
  }
}

function heldAfter(held: readonly FilingDecision[], decision: FilingDecision): readonly FilingDecision[] {
  if (decision.releases !== undefined) return held.filter(({ number }) => number !== decision.releases);
  return isHeld(decision) ? [...held, decision] : held;
}

function decide(command: FilingCommand, filing: Filing): FilingEvent[] {
  switch (command.type) {
    case "DecideFiling":
      return decideFiling(command.decisions, filing);
    case "DecideRelease":
      return release(command.decisions, filing);
    case "MarkFiled": {
      const newly = filing.pending.some(({ number }) => number <= command.number);
      if (!newly && command.inboxRevision <= filing.filedUpTo) return [];
      return [{ type: "MailFiled", data: { number: command.number, inboxRevision: command.inboxRevision } }];
    }
    default:
      return unreachable(command);
  }
}

function decideFiling(decisions: readonly FilingDecision[], filing: Filing): FilingEvent[] {
  const next = decisions[0];
  // Somebody else decided these meanwhile: what is recorded counts, not what this filer thought.
  if (!next || next.inboxRevision !== filing.decidedUpTo + 1 || next.number !== filing.lastNumber + 1) return [];
  return decisions.map((decision) => ({ type: "FilingDecided", data: decision }));
}

/** Only if everything decided before is in its thread, and all of these are still held: merges in between would change where they go. */
function release(decisions: readonly FilingDecision[], filing: Filing): FilingEvent[] {
  if (decisions[0]?.number !== filing.lastNumber + 1 || filing.pending.length > 0) return [];
  const held = new Set(filing.held.map(({ number }) => number));
  if (!decisions.every(({ releases }) => releases !== undefined && held.has(releases))) return [];
  return decisions.map((decision) => ({ type: "FilingDecided", data: decision }));
}

export const filingDecider: Decider<Filing, FilingCommand, FilingEvent> = {
  category: "filing",
  initial: { lastNumber: 0, decidedUpTo: -1, filedUpTo: -1, pending: [], held: [] },
  evolve,
  decide,
};

export const filings = stream({ decider: filingDecider, name: filingStream });
