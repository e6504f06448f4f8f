import { contactById, listContacts } from "#projections/contacts/queries.ts";
import { deleteContact, updateContact } from "#src/commands/contacts.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { listRoute } from "./framework/lists.ts";
import { route } from "./framework/route.ts";
import { Deleted } from "./schemas/common.ts";
import { Contact, ContactList, ContactQuery, UpdateContact } from "./schemas/contacts.ts";

export function contactRoutes(deps: HttpDependencies) {
  const load = ({ workspaceId, params }: { workspaceId: string; params: { id: string } }) =>
    contactById(deps.reads, workspaceId, params.id);

  return [
    listRoute(
      "GET /v1/contacts",
      {
        scope: "read:contacts",
        limit: "read",
        summary: "List contacts: everyone who has written",
        description: "The contact who wrote most recently comes first. A contact is created by its first mail.",
        query: ContactQuery,
        answers: ContactList,
        cursors: deps.cursors,
      },
      ({ workspaceId, query }) => listContacts(deps.reads, workspaceId, query),
    ),
    route(
      "GET /v1/contacts/:id",
      { scope: "read:contacts", limit: "read", summary: "Read a contact", answers: Contact, load },
      async ({ loaded }) => loaded,
    ),
    route(
      "PATCH /v1/contacts/:id",
      {
        scope: "write:contacts",
        limit: "write",
        summary: "Change a contact's name, status or tags",
        description: "Only the given fields change. Trusting or blocking takes effect with the next mail.",
        body: UpdateContact,
        answers: Contact,
        load,
      },
      async ({ workspaceId, params, loaded, body, cause }) => {
        const { position } = await updateContact(deps, { workspaceId, email: loaded.email, changes: body }, cause);
        await deps.readAfter(position, params.id);
        const row = await contactById(deps.reads, workspaceId, params.id);
        if (!row) throw new Rejected("not_found", "this contact has just been deleted");
        return row;
      },
    ),
    route(
      "DELETE /v1/contacts/:id",
      {
        scope: "write:contacts",
        limit: "write",
        summary: "Delete a contact",
        description:
          "Its status and tags are deleted too. Its mail stays. The next mail from that address creates a new contact.",
        answers: Deleted,
        load,
      },
      async ({ workspaceId, params, loaded, cause }) => {
        const { position } = await deleteContact(deps, { workspaceId, email: loaded.email }, cause);
        await deps.readAfter(position, params.id);
        return { id: params.id, deleted: true };
      },
    ),
  ];
}
