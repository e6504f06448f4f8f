/** The form that a field is on: appearance of mail; or approvals and destination of replies, which requires the password. */
export type FormPart = "mail" | "approval";

export type FieldKind =
  | "line"
  | "address"
  | "number"
  | "switch"
  | "text"
  | "lines"
  | "domain"
  | "assistant"
  | "channel";

/** A field of the API's Identity in a form. Inputs have the API's names; `hint` explains the field. */
export type FormField = {
  name: string;
  kind: FieldKind;
  part: FormPart;
  label: string;
  hint: string;
  /** The section on the form of a new identity, if it differs from `part`. */
  whenNew?: FormPart;
  /** True if the field can be set on creation only. */
  onlyAtCreation?: true;
  required?: true | undefined;
  /** What a blank field sends: null by default; "left out": nothing, so that the API's default applies; "as typed": the blank text. */
  blank?: "left out" | "as typed";
  min?: number;
  max?: number;
  /** Value in the form of a new identity. */
  initial?: boolean | number;
};

/** All fields that the API accepts for an identity, in the order of the forms; `status` has separate buttons. */
export const fields: readonly FormField[] = [
  {
    name: "domain_id",
    kind: "domain",
    part: "mail",
    label: "Domain",
    hint: "The part after the @. A domain has to be verified first. It cannot be changed later.",
    onlyAtCreation: true,
    required: true,
    blank: "as typed",
  },
  {
    name: "local_part",
    kind: "line",
    part: "mail",
    label: "Name before the @",
    hint: "For example support. Lowercase letters, digits and . _ + -. It cannot be changed later.",
    onlyAtCreation: true,
    required: true,
    blank: "as typed",
  },
  {
    name: "display_name",
    kind: "line",
    part: "approval",
    whenNew: "mail",
    label: "Display name",
    hint: "Customers see it next to the address in every mail.",
    required: true,
    blank: "as typed",
  },
  {
    name: "reply_to_email",
    kind: "address",
    part: "approval",
    whenNew: "mail",
    label: "Reply-To address",
    hint: "Answers go to this address instead of to this identity, so the agent does not see them. Leave it empty to receive answers here.",
  },
  {
    name: "assistant_id",
    kind: "assistant",
    part: "mail",
    label: "Assistant",
    hint: "The assistant that writes for this address. While an assistant is disabled, its identities accept no new drafts.",
  },
  {
    name: "signature_text",
    kind: "text",
    part: "mail",
    label: "Signature as plain text",
    hint: "Added at the end of every mail, for recipients whose program shows no HTML.",
  },
  {
    name: "signature_html",
    kind: "text",
    part: "mail",
    label: "Signature as HTML",
    hint: "Reduced to what every mail program shows. Pictures from the web are fetched once, when you save.",
  },
  {
    name: "thread_history_depth",
    kind: "number",
    part: "mail",
    label: "Messages of history",
    hint: "How many earlier messages of a conversation the agent gets: 1 to 20.",
    required: true,
    blank: "left out",
    min: 1,
    max: 20,
    initial: 10,
  },
  {
    name: "can_send_cold",
    kind: "switch",
    part: "mail",
    label: "May start new conversations",
    hint: "Without it the agent can only answer people who wrote first. It cannot be changed later.",
    onlyAtCreation: true,
    initial: false,
  },
  {
    name: "require_human_approval",
    kind: "switch",
    part: "approval",
    label: "A person has to approve",
    hint: "Only people decide: through the approval channel, or signed in here. If this is off, an API key with the right to write drafts can approve them too, including the agent's own key, and so can rules and settings.",
    initial: true,
  },
  {
    name: "auto_approve_replies",
    kind: "switch",
    part: "approval",
    label: "Approve replies automatically",
    hint: "Replies are sent without a person's approval: no person sees them before the customer does.",
    initial: false,
  },
  {
    name: "send_on_channel_approval",
    kind: "switch",
    part: "approval",
    label: "Send when approved in the channel",
    hint: "The approver's button then approves and sends. If this is off, an approved reply waits until a member or an API key sends it.",
    initial: true,
  },
  {
    name: "approvals_required",
    kind: "number",
    part: "approval",
    label: "Approvals required",
    hint: "How many different people have to approve a draft: 1 to 5. One rejection ends it.",
    required: true,
    blank: "left out",
    min: 1,
    max: 5,
    initial: 1,
  },
  {
    name: "confirm_code",
    kind: "switch",
    part: "approval",
    label: "Ask for a code",
    hint: "The page behind the link of an approval mail asks for the four digits in that mail, so that a forwarded link is not enough to decide.",
    initial: false,
  },
  {
    name: "edit_by_channel",
    kind: "switch",
    part: "approval",
    label: "Approvers may edit where they are asked",
    hint: "An approver may correct the subject and the text before approving: in Slack, in Telegram, and on the page behind an approval mail's link if it asks for a code. If this is off, only signed-in members and the agent edit.",
    initial: false,
  },
  {
    name: "approval_channel",
    kind: "channel",
    part: "approval",
    label: "Approval channel",
    hint: "How the approver is asked about each draft.",
  },
  {
    name: "secondary_approval_channel",
    kind: "channel",
    part: "approval",
    label: "Second approval channel",
    hint: "Used if the first approver does not decide in time or cannot be reached; used immediately if several people have to approve.",
  },
  {
    name: "escalation_delay_minutes",
    kind: "number",
    part: "approval",
    label: "Minutes until the second channel is asked",
    hint: "1 to 10080 (a week). Empty: 60 minutes, if there is a second channel.",
    min: 1,
    max: 10_080,
  },
  {
    name: "aliases",
    kind: "lines",
    part: "approval",
    label: "Addresses forwarded to this one",
    hint: "One address per line, at most 20, such as info@ of your own domain. A reply to all leaves them out, so that it does not come back.",
  },
  {
    name: "covered_recipients",
    kind: "lines",
    part: "approval",
    label: "Recipients who may be answered automatically",
    hint: "One address per line, at most 20. Rules may answer these recipients without a person's approval even if the sender of the mail is not proven. Leave it empty if you are not sure.",
  },
];

/** The fields of one form. The form of a new identity has all. */
export const fieldsOf = (form: FormPart | "new"): readonly FormField[] =>
  fields.filter(({ part, onlyAtCreation }) => form === "new" || (part === form && onlyAtCreation !== true));

export const fieldNamed = (name: string): FormField | undefined => fields.find((field) => field.name === name);
