import type { IdentityEvent } from "#streams/identity/events.ts";
import type { Projection } from "../projection.ts";
import { foldRows } from "../rows.ts";
import { evolveIdentity, identityColumns, type StoredIdentity } from "./row.ts";

export const identities: Projection<IdentityEvent> = {
  name: "identities",
  version: 7,
  tables: ["identities"],
  handles: ["IdentityCreated", "IdentityUpdated", "IdentitySecretsResealed", "IdentityChatMoved", "IdentityDeleted"],
  project: foldRows<StoredIdentity, IdentityEvent>({
    table: "identities",
    columns: identityColumns,
    evolve: evolveIdentity,
  }),
};
