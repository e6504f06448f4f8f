import type { WarningKind } from "#streams/draft/warnings.ts";

/** Each kind of warning in a few words, for lists, filters and the reference. A card has a sentence with the details instead. */
export const warningWords: Record<WarningKind, string> = {
  answered_meanwhile: "already answered",
  answer_limit: "limit of answers reached",
  newer_message: "newer mail arrived",
  other_draft: "another draft waits",
  not_examined: "not examined for warnings",
  unproven_sender: "sender not proven",
  addresses_agent: "message addresses an AI",
  hidden_words: "message has hidden words",
  asks_for_secrets: "message asks for a secret",
  changes_payment: "message changes payment data",
  other_recipient: "recipient other than the sender",
  replies_leave: "replies leave this service",
  new_recipient: "recipient new to the conversation",
  many_recipients: "many recipients",
  hidden_recipient: "hidden recipient (Bcc)",
  lookalike_address: "address outside plain Latin letters",
  misleading_link: "link names another site",
  risky_file: "risky file",
  forms_differ: "HTML and plain text differ",
  unseen_characters: "invisible characters",
  absence_notice: "may be an absence notice",
  edited_often: "changed many times",
  message_note: "note about the message",
};
