import type { DeliveryEvent, DeliveryRecipient } from "./events.ts";

/** What was reported last of a recipient. */
export type RecipientStatus = "delayed" | "delivered" | "failed" | "bounced" | "complained";

/** By address in lower case. */
export type RecipientStatuses = Readonly<Record<string, RecipientStatus>>;

/** The status that each report says of its recipients, from the weakest: a weaker report changes nothing after a stronger one. */
const statusByReport: Partial<Record<DeliveryEvent["type"], RecipientStatus>> = {
  DeliveryDelayed: "delayed",
  DeliveryDelivered: "delivered",
  DeliveryDropped: "failed",
  DeliveryBounced: "bounced",
  DeliveryComplained: "complained",
};
const strength = Object.values(statusByReport);

type Report = { type: DeliveryEvent["type"]; recipients: readonly DeliveryRecipient[] };

/** Returns the status that a report says of its recipients; undefined if it says none. */
export const reportedStatus = (type: string): RecipientStatus | undefined =>
  statusByReport[type as DeliveryEvent["type"]];

/** Returns the recipients whose status a report changes, each once. */
export function newRecipients(known: RecipientStatuses, { type, recipients }: Report): DeliveryRecipient[] {
  const status = reportedStatus(type);
  if (status === undefined) return [];
  const isNews = ({ address }: DeliveryRecipient): boolean => {
    const before = known[address.toLowerCase()];
    return before === undefined || strength.indexOf(status) > strength.indexOf(before);
  };
  return recipients.filter(
    (recipient, index) =>
      isNews(recipient) &&
      recipients.findIndex(({ address }) => address.toLowerCase() === recipient.address.toLowerCase()) === index,
  );
}

/** Returns the statuses after a report. */
export function withRecipients(known: RecipientStatuses, report: Report): RecipientStatuses {
  const status = reportedStatus(report.type);
  const changed = newRecipients(known, report);
  if (status === undefined || changed.length === 0) return known;
  return { ...known, ...Object.fromEntries(changed.map(({ address }) => [address.toLowerCase(), status])) };
}
