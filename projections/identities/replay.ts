import { idOf, type Recorded } from "#streams/event.ts";
import type { IdentityEvent } from "#streams/identity/events.ts";
import { asRead } from "../rows.ts";
import type { IdentityRow } from "./queries.ts";
import { evolveIdentity, identityColumns, type StoredIdentity } from "./row.ts";

const times = ["created_at", "updated_at", "deleted_at"];

/** Returns an identity as its row was after these events, which begin with its first; undefined if there are none. */
export function identityAfter(
  events: readonly Recorded<IdentityEvent>[],
): (IdentityRow & { deleted_at: Date | null }) | undefined {
  const [first] = events;
  if (!first) return undefined;
  const row = events.reduce<StoredIdentity>(evolveIdentity, { id: idOf(first.stream) });
  return asRead(row, { columns: identityColumns, times });
}
