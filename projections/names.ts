/** The names of the read models. */
export type ReadModel =
  | "workspaces"
  | "apiKeys"
  | "members"
  | "domains"
  | "identities"
  | "inbound"
  | "chains"
  | "threads"
  | "messages"
  | "search"
  | "drafts"
  | "feed"
  | "webhooks"
  | "contacts"
  | "assistants"
  | "rules"
  | "ruleEvaluations";
