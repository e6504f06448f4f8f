import type { ConversationLine } from "#projections/messages/queries.ts";
import type { WireThread } from "../../present/threads.ts";
import type { ListItem } from "../../routes.ts";
import type { PageLinks } from "../framework/pageLinks.ts";

/** An identity as a list names it. */
export type NamedIdentity = Pick<ListItem<"GET /v1/identities">, "id" | "display_name" | "email_address">;

export type ListedThread = {
  thread: WireThread;
  line: ConversationLine | undefined;
  identity: NamedIdentity | undefined;
};

export type ThreadsView = {
  /** Filters as typed, by the API's names. */
  filters: Readonly<Record<string, string>>;
  identities: readonly NamedIdentity[];
  /** Why the API refused the filters. */
  refused: { message: string; field?: string | undefined } | undefined;
  /** The matching conversations; undefined if the API refused the filters. */
  list: { threads: readonly ListedThread[]; total: number; isCapped: boolean; ways: PageLinks } | undefined;
  /** URL of this page, for refreshing it. */
  path: string;
  maySeeIdentities: boolean;
};
