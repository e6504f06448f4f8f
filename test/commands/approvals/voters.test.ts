import { expect } from "chai";
import { voterOf } from "#src/commands/approvals/voters.ts";

const mailbox = (id: string) =>
  voterOf({ kind: "email_link", id }, { slot: "primary", type: "email", address: id }).voter;

describe("who counts once", () => {
  it("is a mailbox, however its address is written, and a member with that address", () => {
    const spellings = ["ann@example.com", "ANN@Example.com", "ann+second@example.com", '"ann"@example.com'];
    expect(new Set(spellings.map(mailbox)).size).to.equal(1);
    expect(voterOf({ kind: "session", id: "ann@example.com" }, null).voter).to.equal(mailbox("ann@example.com"));
    expect(mailbox("bob@example.com")).not.to.equal(mailbox("ann@example.com"));
  });
});
