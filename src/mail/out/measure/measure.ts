/** Two measures of the service's own mail: what somebody else's rules, tests and news make us send, and what approvals need. */
export type MeasureName = "notices" | "approvals";

/** How many mails an hour of each measure one mailbox gets, of all workspaces together, and one workspace has sent, to all mailboxes together. */
export type MeasureLimits = Readonly<Record<MeasureName, { mailbox: number; workspace: number }>>;

/** One mail that is about to leave. A repetition of the same attempt is counted once. `mailbox`: see mailboxOf. */
export type MeasuredMail = { attemptId: string; measure: MeasureName; mailbox: string; workspaceId: string };

/** `isNew`: this call has counted it. `inMs`: after so many milliseconds there is a place again, if nobody else takes it. */
export type Place = { taken: true; isNew: boolean } | { taken: false; fullFor: "mailbox" | "workspace"; inMs: number };

/** Counts mail in any hour, exactly, for all instances. Throws Unavailable. */
export type MailMeasure = {
  take(mail: MeasuredMail): Promise<Place>;
  /** For a mail that did not leave after all. */
  giveBack(attemptId: string): Promise<void>;
};

/** The limits as one setting has them: notices for a mailbox and a workspace, then approvals for a mailbox and a workspace. */
export const limitsOf = (given: readonly number[]): MeasureLimits => {
  const [noticesOfMailbox = 0, notices = 0, approvalsOfMailbox = 0, approvals = 0] = given;
  return {
    notices: { mailbox: noticesOfMailbox, workspace: notices },
    approvals: { mailbox: approvalsOfMailbox, workspace: approvals },
  };
};

/**
 * An address as the mailbox it stands for, so that its other spellings are no other mailbox: case, quotes without need, what follows a "+", and
 * for Gmail dots and its second domain. Only for counting and for stopping: two mailboxes that differ by a tag alone count as one.
 */
export function mailboxOf(address: string): string {
  const folded = address.trim().toLowerCase().normalize("NFKC");
  const at = folded.lastIndexOf("@");
  const domain = folded.slice(at + 1).replace(/\.$/, "");
  const unquoted = folded.slice(0, at).replace(/^"(.*)"$/, "$1");
  const local = unquoted.replace(/(?<=.)\+.*$/, "");
  return gmail.has(domain) ? `${local.replaceAll(".", "")}@gmail.com` : `${local}@${domain}`;
}

const gmail: ReadonlySet<string> = new Set(["gmail.com", "googlemail.com"]);
