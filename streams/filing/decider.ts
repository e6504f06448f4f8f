import type { Decider } from "../decider.ts";
import type { FilingDecision, FilingEvent } from "./events.ts";

export type Filing = {
  /** The newest filing number; 0 before the first. */
  lastNumber: number;
  /** Everything up to this revision of the inbox has a decision; -1 before the first. */
  decidedUpTo: number;
  /** Everything up to this revision of the inbox stands in its thread; -1 before the first. */
  filedUpTo: number;
  /** Decided and not yet carried out, oldest first. */
  pending: FilingDecision[];
};

export type FilingCommand =
  | { type: "DecideFiling"; decisions: FilingDecision[] }
  | { type: "MarkFiled"; number: number; inboxRevision: number };

function evolve(filing: Filing, event: FilingEvent): Filing {
  switch (event.type) {
    case "FilingDecided":
      return {
        ...filing,
        lastNumber: event.data.number,
        decidedUpTo: Math.max(filing.decidedUpTo, event.data.inboxRevision),
        pending: [...filing.pending, event.data],
      };
    case "MailFiled":
      return {
        ...filing,
        filedUpTo: Math.max(filing.filedUpTo, event.data.inboxRevision),
        pending: filing.pending.filter((decision) => decision.number > event.data.number),
      };
  }
}

function decide(command: FilingCommand, filing: Filing): FilingEvent[] {
  if (command.type === "MarkFiled") {
    if (command.inboxRevision <= filing.filedUpTo) return [];
    return [{ type: "MailFiled", data: { number: command.number, inboxRevision: command.inboxRevision } }];
  }
  const next = command.decisions[0];
  // Somebody else decided these meanwhile: what is recorded counts, not what this filer thought.
  if (!next || next.inboxRevision !== filing.decidedUpTo + 1 || next.number !== filing.lastNumber + 1) return [];
  return command.decisions.map((decision) => ({ type: "FilingDecided", data: decision }));
}

export const filingDecider: Decider<Filing, FilingCommand, FilingEvent> = {
  category: "filing",
  initial: { lastNumber: 0, decidedUpTo: -1, filedUpTo: -1, pending: [] },
  evolve,
  decide,
};
