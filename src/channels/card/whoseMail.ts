import { visibleLine } from "#src/html/visible.ts";
import type { MailKind, PutAside } from "#streams/inbox/mailKinds.ts";
import { named } from "./names.ts";

/** Whose mail a received message is. `colleague`: address of the identity of this workspace that is proven to have sent it. */
type WhoseMail = {
  kind: MailKind;
  colleague: string | null;
  put_aside: PutAside | null;
  filed_by: { id: string; name?: string } | null;
};

/** Says whose mail a message is, in sentences; none for a customer's own words. An altered copy of ours says so in its notes. */
export function whoseMailInWords({ kind, colleague, put_aside, filed_by }: WhoseMail): string[] {
  const said = sentences[kind];
  return [
    ...(colleague === null ? [] : [fromColleague(colleague, put_aside === "hand_over")]),
    ...(said === undefined ? [] : [said]),
    ...(filed_by === null || put_aside === null
      ? []
      : [
          `It was put aside as ${asideNouns[put_aside]}: ${named(filed_by.name ?? filed_by.id)} filed it as a message.`,
        ]),
  ];
}

/** Says that an address of the workspace stands in From, and that nothing proves it. */
export const unprovenColleague =
  "The sender's address is an address of this workspace, but nothing proves that the mail was sent from here.";

const sentences: Partial<Record<MailKind, string>> = {
  program: "A program sent it, such as a web form or a notification.",
  automatic_reply: "It is an automatic reply.",
  report: "It is a report about a mail, such as a bounce or a receipt.",
};

const fromColleague = (address: string, isHandedOver: boolean): string =>
  `From a colleague: ${visibleLine(address)} of this workspace.${isHandedOver ? " It was handed over: it is addressed to this workspace alone." : ""}`;

/** Nouns of what is put aside, within a sentence. */
export const asideNouns: Record<PutAside, string> = {
  own_copy: "a copy of our own mail",
  reaction: "a reaction",
  automatic_reply: "an automatic reply",
  report: "a report about a mail",
  colleague: "a colleague's mail",
  hand_over: "a hand-over by a colleague",
};
