/** The two quotas of notification mail: mail caused by other people's rules, tests and news, and mail for approvals. */
export type QuotaName = "notices" | "approvals";

/** Maximum number of mails per hour for each quota: to one mailbox from all workspaces, and from one workspace to all mailboxes. */
export type NotificationQuotaLimits = Readonly<Record<QuotaName, { mailbox: number; workspace: number }>>;

/** A mail to be sent. A repetition of the same attempt counts once. `mailbox`: see mailboxOf. */
export type CountedMail = { attemptId: string; measure: QuotaName; mailbox: string; workspaceId: string };

/** `isNew`: this call counted the mail, no earlier one. `inMs`: milliseconds until a place is free, if no other mail takes it. */
export type QuotaPlace =
  | { taken: true; isNew: boolean }
  | { taken: false; fullFor: "mailbox" | "workspace"; inMs: number };

/** Counts mail over any one hour, exactly, for all instances. Throws Unavailable. */
export type NotificationQuota = {
  take(mail: CountedMail): Promise<QuotaPlace>;
  /** Uncounts a mail that was not sent after all. */
  giveBack(attemptId: string): Promise<void>;
};

/** Parses the limits from their setting: notices per mailbox and workspace, then approvals per mailbox and workspace. */
export const limitsOf = (given: readonly number[]): NotificationQuotaLimits => {
  const [noticesOfMailbox = 0, notices = 0, approvalsOfMailbox = 0, approvals = 0] = given;
  return {
    notices: { mailbox: noticesOfMailbox, workspace: notices },
    approvals: { mailbox: approvalsOfMailbox, workspace: approvals },
  };
};

/**
 * Normalises an address to its mailbox, so that other spellings count as the same: case, needless quotes, what follows a "+", and for
 * Gmail dots and its second domain. Used only for quotas and unsubscribing: two mailboxes that differ by a tag alone count as one.
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
