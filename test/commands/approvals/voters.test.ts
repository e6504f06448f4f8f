import { expect } from "chai";
import { lapsedVoters, memberVoters, toVote, voterNames, voterOf } from "#src/commands/approvals/voters.ts";
import { addressHash } from "#src/commands/identities/addresses.ts";
import { changeRole, removeMember } from "#src/commands/members/members.ts";
import { isSamePerson } from "#streams/draft/quorum.ts";
import type { Actor } from "#streams/event.ts";
import { cause, createSendWorld, identityId, refusal, workspaceId } from "#test/processes/sendWorld.ts";

const mailbox = (id: string) =>
  voterOf({ kind: "email_link", id }, { slot: "primary", type: "email", address: id }).voter;
const ann = (email: string): Actor => ({ kind: "session", id: "user-ann", name: "Ann", email });
const link = (address: string) =>
  [{ kind: "email_link", id: address } as Actor, { slot: "primary", type: "email", address } as const] as const;

/** Makes Ann's account, which has each of these addresses in turn. */
async function annOf(...addresses: string[]) {
  const { node } = await createSendWorld({ people: false });
  for (const [index, email] of addresses.entries()) {
    await node.userEmails.handle(addressHash(email), { type: "ClaimUserEmail", userId: "user-ann", email }, cause);
    const before = addresses[index - 1];
    if (before === undefined) {
      await node.users.handle("user-ann", { type: "RegisterUser", email, name: "Ann" }, cause);
      continue;
    }
    await node.users.handle("user-ann", { type: "ChangeUserEmail", email }, cause);
    await node.userEmails.handle(addressHash(before), { type: "ReleaseUserEmail", userId: "user-ann" }, cause);
  }
  return node;
}

describe("the identity of a voter", () => {
  it("a mailbox is one voter, however its address is written", () => {
    const spellings = ["ann@example.com", "ANN@Example.com", "ann+second@example.com", '"ann"@example.com'];
    expect(new Set(spellings.map(mailbox)).size).to.equal(1);
    expect(mailbox("bob@example.com")).not.to.equal(mailbox("ann@example.com"));
  });

  it("a signed-in person is one voter, by whichever address they sign in", async () => {
    const node = await annOf("ann@example.com");
    const one = await voterNames(node, ann("ann@example.com"), null);
    const other = await voterNames(node, ann("ann@new.example"), null);
    expect(one.voter).to.equal("session:user-ann");
    expect(other.voter).to.equal(one.voter);
  });

  it("a link in a mail to any address that a person has or had votes as that person", async () => {
    const node = await annOf("ann@example.com", "ann@new.example");
    const signedIn = await voterNames(node, ann("ann@new.example"), null);
    for (const address of ["ann@example.com", "ANN@new.example", "ann+desk@new.example"]) {
      const byLink = await voterNames(node, ...link(address));
      expect(isSamePerson(signedIn, byLink), address).to.equal(true);
    }
    const bob = await voterNames(node, ...link("bob@example.com"));
    expect(isSamePerson(signedIn, bob)).to.equal(false);
  });

  it("a person who approved and then changed their address is the same voter by a link to the new one", async () => {
    const node = await annOf("ann@example.com");
    const before = await voterNames(node, ann("ann@example.com"), null);
    await node.users.handle("user-ann", { type: "ChangeUserEmail", email: "a@new.example" }, cause);
    const claim = { type: "ClaimUserEmail", userId: "user-ann", email: "a@new.example" } as const;
    await node.userEmails.handle(addressHash("a@new.example"), claim, cause);
    expect(isSamePerson(before, await voterNames(node, ...link("a@new.example")))).to.equal(true);
  });

  it("removed, disabled and read-only members are no voters, which is checked if several are required", async () => {
    const node = await annOf("ann@example.com");
    const join = (userId: string, role: "owner" | "approver" | "auditor") =>
      node.members.handle(
        workspaceId,
        { type: "JoinMember", memberId: `member-${userId}`, userId, email: `${userId}@example.com`, role },
        cause,
      );
    await join("user-bob", "owner");
    await join("user-ann", "approver");
    await join("user-cyd", "auditor");
    const voters = ["session:user-ann", "session:user-bob", "session:user-cyd", "session:nobody", "telegram:7", "keys"];
    const lapsed = () => lapsedVoters(node, workspaceId, voters);
    expect(await lapsed()).to.deep.equal(["session:user-cyd", "session:nobody"]);
    await node.users.handle("user-ann", { type: "DisableUser" }, cause);
    expect(await lapsed()).to.include("session:user-ann");
    // Lapsed voters are not counted among the members who could give a missing approval either.
    expect(await memberVoters(node, workspaceId)).to.deep.equal(["mailbox:user-bob@example.com"]);
    const change = { workspaceId, memberId: "member-user-bob", role: "admin" as const };
    // None of these members has a session.
    Object.assign(node, { accounts: { sessions: { renew: async () => [] } } });
    const byOperator = { ...cause, actor: { kind: "operator" as const, id: "operator" } };
    await changeRole(node, { ...change, memberId: "member-user-ann", role: "owner" }, byOperator);
    expect(await refusal(changeRole(node, change, byOperator))).to.equal("invalid_request");
    expect(await refusal(removeMember(node, change, byOperator))).to.equal("invalid_request");
    await node.users.handle("user-ann", { type: "EnableUser" }, cause);
    expect(await memberVoters(node, workspaceId)).to.have.length(2);
    await changeRole(node, change, byOperator);
    await changeRole(node, { ...change, role: "owner" }, byOperator);
    expect(await lapsed()).not.to.include("session:user-ann");
    await node.members.handle(
      workspaceId,
      { type: "RemoveMember", memberId: "member-user-ann", by: "operator" },
      cause,
    );
    expect(await lapsed()).to.include("session:user-ann");

    const { state: identity } = await node.identities.load(identityId);
    const votes = [{ voter: "session:user-ann", place: null, sendRequested: true }];
    const asked = { actor: ann("ann@example.com"), channel: null, votes };
    const voting = await toVote(node, { ...identity, approvalsRequired: 2 }, asked);
    expect(voting).to.deep.include({ required: 2, lapsed: ["session:user-ann"], also: ["mailbox:ann@example.com"] });
  });
});
