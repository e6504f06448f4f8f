import { contactDecider, maxTags } from "#streams/contact/decider.ts";
import type { ContactEvent } from "#streams/contact/events.ts";
import { given } from "#test/support/given.ts";

const of = { workspaceId: "workspace", email: "ann@customer.example" };
const contact = (...events: ContactEvent[]) => given(contactDecider, ...events);
const updated = (changes: { name?: string | null; status?: "trusted" | "blocked"; tags?: string[] }): ContactEvent => ({
  type: "ContactUpdated",
  data: { ...of, ...changes },
});
const update = (changes: Parameters<typeof updated>[0]) => ({ ...of, type: "UpdateContact" as const, changes });
const tag = (tag: string) => ({ ...of, type: "TagContact" as const, tag });
const tagged = (tag: string): ContactEvent => ({ type: "ContactTagged", data: { ...of, tag } });
const deleted: ContactEvent = { type: "ContactDeleted", data: of };

describe("a contact", () => {
  it("an update of a contact records only what is different", () => {
    contact()
      .when(update({ status: "blocked" }))
      .then(updated({ status: "blocked" }));
    contact(updated({ status: "blocked" }))
      .when(update({ status: "blocked" }))
      .then();
    contact(updated({ tags: ["a"] }))
      .when(update({ tags: ["a", "a"] }))
      .then();
    contact(updated({ tags: ["a"] }))
      .when(update({ tags: ["b", "a", "b"] }))
      .then(updated({ tags: ["b", "a"] }));
    contact().when(update({})).then();
    contact()
      .when(update({ name: null }))
      .then(updated({ name: null }));
  });

  it("a contact gets each tag once, up to the limit", () => {
    contact().when(tag("vip")).then(tagged("vip"));
    contact(tagged("vip")).when(tag("vip")).then();
    contact(tagged("vip")).when(tag("VIP")).then(tagged("VIP"));
    const full = updated({ tags: Array.from({ length: maxTags }, (_, n) => String(n)) });
    contact(full).when(tag("more")).thenRejected("invalid_request");
    contact(full).when(tag("7")).then();
  });

  it("a deleted contact's status and tags are forgotten", () => {
    const before = [updated({ status: "blocked" }), tagged("vip"), deleted];
    contact(...before)
      .when(tag("vip"))
      .then(tagged("vip"));
    contact(...before)
      .when(update({ status: "blocked" }))
      .then(updated({ status: "blocked" }));
    contact()
      .when({ ...of, type: "DeleteContact" })
      .then(deleted);
  });
});
