import type { MailRefusal } from "#src/platform/metrics/metrics.ts";
import type { MailTransaction, Reception, Recipient } from "../reception.ts";
import type { Budget } from "./budget.ts";
import { SmtpReply } from "./smtpReply.ts";

/** A recipient as the SMTP library keeps it: the same object from its RCPT to the end of the mail. */
type NamedRecipient = { address: string };

/** Envelope of a session: the recipients accepted so far, and the sender's key for the budget; undefined for our own relay. */
export type SessionEnvelope = { taken: readonly NamedRecipient[]; sender: string | undefined };

export type Envelopes = {
  /** Called at RCPT. Throws Reply 550 if no identity has the address, 452 over the budget, 451 if the workspace has no room. */
  add(recipient: NamedRecipient, envelope: SessionEnvelope): Promise<void>;
  /**
   * Called after the final dot: looks up each recipient's identity once more, because it may have been deleted since. One reply covers all
   * recipients, so if only some are gone, the sender is asked to retry and learns at RCPT which. Throws Reply 550, 451.
   */
  lookAgain(taken: readonly NamedRecipient[]): Promise<MailTransaction["recipients"]>;
  /**
   * Charges a mail of this size to its sender for each identity. Throws Reply 452 over the budget. Returns a function that refunds it.
   */
  charge(sender: string | undefined, recipients: MailTransaction["recipients"], bytes: number): () => void;
};

/** `patienceMs`: maximum time for looking up a recipient; after that the sender is asked to retry. */
export function createEnvelopes(options: {
  reception: Pick<Reception, "resolve">;
  budget: Budget;
  patienceMs: number;
  isFull(workspaceId: string): boolean;
  onRefused(reason: MailRefusal): void;
}): Envelopes {
  const { reception, budget, patienceMs, isFull, onRefused } = options;
  const recipients = new WeakMap<NamedRecipient, Recipient>();

  function overBudget(): SmtpReply {
    onRefused("budget");
    return new SmtpReply(452, "You have sent this recipient too much, please try again later");
  }

  return {
    async add(named, { taken, sender }) {
      const recipient = await within(patienceMs, reception.resolve(named.address));
      if (!recipient) throw nobody();
      if (recipient.kind === "identity" && isFull(recipient.workspaceId)) {
        onRefused("unanswered");
        throw new SmtpReply(451, "This recipient has no room for more mail at the moment, please try again later");
      }
      const inbox = inboxOf(recipient);
      const before = taken.filter((each) => inboxOf(recipients.get(each)) === inbox).length;
      if (sender !== undefined && !budget.fits(sender, inbox, before + 1)) throw overBudget();
      recipients.set(named, recipient);
    },

    async lookAgain(taken) {
      const first = new Map<string, NamedRecipient>();
      for (const named of taken) {
        const inbox = inboxOf(recipients.get(named));
        if (!first.has(inbox)) first.set(inbox, named);
      }
      const found = new Map<string, Recipient | undefined>();
      const lookUp = async ([inbox, { address }]: [string, NamedRecipient]) => {
        found.set(inbox, await reception.resolve(address, { anew: true }));
      };
      await within(patienceMs, Promise.all([...first].map(lookUp)));
      if ([...found.values()].every((recipient) => recipient === undefined)) throw nobody();
      return taken.map((named) => {
        const inbox = inboxOf(recipients.get(named));
        const recipient = found.get(inbox);
        if (!recipient || inboxOf(recipient) !== inbox)
          throw new SmtpReply(451, "A recipient is gone, please try again");
        return { recipient, address: named.address };
      });
    },

    charge(sender, all, bytes) {
      const spent: (() => void)[] = [];
      const giveBack = () => spent.forEach((each) => void each());
      if (sender === undefined) return giveBack;
      const copies = new Map<string, number>();
      for (const { recipient } of all) copies.set(inboxOf(recipient), (copies.get(inboxOf(recipient)) ?? 0) + 1);
      for (const [inbox, messages] of copies) {
        const back = budget.spend(sender, inbox, { messages, bytes });
        if (back) spent.push(back);
        else {
          giveBack();
          throw overBudget();
        }
      }
      return giveBack;
    },
  };
}

const nobody = (): SmtpReply => new SmtpReply(550, "No such recipient here");

/** Returns the key of a recipient's inbox, the same for all of its addresses. */
const inboxOf = (recipient: Recipient | undefined): string =>
  recipient?.kind === "identity" ? recipient.identityId : (recipient?.kind ?? "nobody");

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`recipients could not be looked up within ${ms} ms`)), ms);
  });
  return Promise.race([work, tooLong]).finally(() => clearTimeout(timer));
}
