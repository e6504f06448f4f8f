import { counted } from "#src/html/counted.ts";
import type { WireMessage } from "./messages.ts";

/** Names for mail by its kind; a customer's needs none. */
const kindWords: Partial<Record<NonNullable<WireMessage["kind"]>, string>> = {
  program: "Program",
  altered_copy: "Altered copy of our mail",
  filed_by_hand: "Filed by hand",
  colleague: "Colleague",
  automatic_reply: "Automatic reply",
  report: "Report",
};

/** Names for a received message whose author is not simply a customer. */
export const namesOfKind = ({ kind, classification }: Pick<WireMessage, "kind" | "classification">): string[] => {
  const name = classification === "bounce" ? "Bounce" : kind !== null && kindWords[kind];
  return [...(name ? [name] : []), ...(classification === "list" ? ["Mailing list"] : [])];
};

type Recipients = WireMessage["recipients"];

/** Returns the recipients who will not get the mail. */
export const lostRecipients = (recipients: Recipients): Recipients =>
  recipients.filter(({ status }) => status === "bounced" || status === "failed");

/** Says for how many recipients the mail is lost; null if for none. */
export function lossInWords(recipients: Recipients): string | null {
  const lost = lostRecipients(recipients).length;
  return lost === 0 ? null : `Not delivered to ${lost} of ${counted(recipients.length, "recipient")}`;
}
