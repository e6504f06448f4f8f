import type { RuleAction } from "#streams/rule/events.ts";

/** The actions of rules. Exhaustive: a missing action does not compile. */
export const ruleActions: Record<RuleAction["type"], { fields: readonly string[]; does: string }> = {
  set_thread_status: { fields: ["status"], does: "Sets the status of the thread." },
  set_approval_mode: {
    fields: ["mode"],
    does: "`auto` approves without a person, `manual` sends an automatic approval back to a person. At `email.received` it is about the next draft that is based on the message, at `draft.created` about that draft.",
  },
  skip_approval: { fields: [], does: "Approves the draft without a person, and sends it." },
  notify_channel: {
    fields: ["channel", "config"],
    does: "Sends a short notice by mail or to a chat: which rule matched, on which thread and draft.",
  },
  add_tag: { fields: ["tag"], does: "Tags the contact." },
  set_priority: { fields: ["priority"], does: "Sets the priority of the thread." },
};
