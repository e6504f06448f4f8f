import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { type Asker, activeMember, type MemberCommand, maxMembers, memberDecider } from "#streams/member/decider.ts";
import type { MemberEvent } from "#streams/member/events.ts";
import { type Role, roles } from "#streams/member/roles.ts";
import { given } from "#test/support/given.ts";

const now = "2026-03-01T12:00:00.000Z";
const inAWeek = "2026-03-08T12:00:00.000Z";
const later = "2026-03-09T12:00:00.000Z";

const joined = (name: string, role: Role = "owner"): MemberEvent => ({
  type: "MemberJoined",
  data: { memberId: `m-${name}`, userId: `u-${name}`, email: `${name}@example.com`, role },
});
const invited = (name: string, role: Role = "approver", email = `${name}@example.com`): MemberEvent => ({
  type: "MemberInvited",
  data: { memberId: `m-${name}`, email, role, expiresAt: inAWeek },
});
const accepted = (name: string): MemberEvent => ({
  type: "InvitationAccepted",
  data: { memberId: `m-${name}`, userId: `u-${name}` },
});
const changed = (name: string, role: Role): MemberEvent => ({
  type: "MemberRoleChanged",
  data: { memberId: `m-${name}`, role },
});
const removed = (name: string): MemberEvent => ({ type: "MemberRemoved", data: { memberId: `m-${name}` } });
const renewed = (name: string): MemberEvent => ({
  type: "InvitationRenewed",
  data: { memberId: `m-${name}`, expiresAt: later },
});

const as = (name: string): Asker => ({ userId: `u-${name}` });
const invite = (name: string, role: Role, by: Asker): MemberCommand & { type: "InviteMember" } => ({
  ...{ type: "InviteMember", memberId: `m-${name}`, email: `${name}@example.com`, holder: null },
  ...{ role, expiresAt: inAWeek, by },
});
const accept = (name: string, changes: { email?: string; userId?: string; at?: string } = {}): MemberCommand => ({
  ...{ type: "AcceptInvitation", memberId: `m-${name}`, userId: `u-${name}`, email: `${name}@example.com`, at: now },
  ...changes,
});
const change = (name: string, role: Role, by: Asker): MemberCommand => ({
  ...{ type: "ChangeRole", memberId: `m-${name}`, role, by },
});
const remove = (name: string, by: Asker): MemberCommand => ({ type: "RemoveMember", memberId: `m-${name}`, by });
const renew = (name: string, by: Asker): MemberCommand => ({
  ...{ type: "RenewInvitation", memberId: `m-${name}`, expiresAt: later, by },
});

const of = (...events: MemberEvent[]) => given(memberDecider, ...events);
const olga = joined("olga");
const adam = joined("adam", "admin");

describe("members of a workspace", () => {
  describe("an owner", () => {
    it("a workspace's only owner is neither removed nor given another role, by anybody", () => {
      for (const by of [as("olga"), "operator"] as Asker[]) {
        of(olga, adam).when(remove("olga", by)).thenRejected("invalid_request");
        for (const role of roles.filter((role) => role !== "owner"))
          of(olga, adam)
            .when(change("olga", role, by))
            .thenRejected("invalid_request");
      }
    });

    it("an invited owner who has not accepted does not count as an owner", () => {
      of(olga, invited("ann", "owner"))
        .when(remove("olga", as("olga")))
        .thenRejected("invalid_request");
      of(olga, invited("ann", "owner"), accepted("ann"))
        .when(remove("olga", as("olga")))
        .then(removed("olga"));
    });

    it("of two owners who demote each other one remains: a demoted owner changes nobody", () => {
      const two = [olga, joined("oscar")];
      of(...two)
        .when(change("oscar", "approver", as("olga")))
        .then(changed("oscar", "approver"));
      of(...two, changed("oscar", "approver"))
        .when(change("olga", "approver", as("oscar")))
        .thenRejected("insufficient_scope");
      of(...two, changed("oscar", "admin"))
        .when(change("olga", "approver", as("oscar")))
        .thenRejected("insufficient_scope");
      of(...two, removed("oscar"))
        .when(remove("olga", as("oscar")))
        .thenRejected("insufficient_scope");
    });

    it("owners are made, changed and removed by owners and the operator, not by admins and keys", () => {
      const two = [olga, joined("oscar"), adam, joined("ann", "approver"), invited("ina", "owner")];
      for (const by of [as("adam"), "api_key"] as Asker[]) {
        for (const command of [
          ...[invite("new", "owner", by), change("ann", "owner", by), change("oscar", "admin", by)],
          ...[remove("oscar", by), remove("ina", by), renew("ina", by), change("ina", "admin", by)],
        ])
          of(...two)
            .when(command)
            .thenRejected("insufficient_scope");
      }
      for (const by of [as("olga"), "operator"] as Asker[]) {
        of(...two)
          .when(change("ann", "owner", by))
          .then(changed("ann", "owner"));
        of(...two)
          .when(change("oscar", "admin", by))
          .then(changed("oscar", "admin"));
        of(...two)
          .when(remove("oscar", by))
          .then(removed("oscar"));
        of(...two)
          .when(invite("new", "owner", by))
          .then(invited("new", "owner"));
      }
    });
  });

  it("members are changed by owners and admins alone", () => {
    const all = [olga, adam, joined("ann", "approver"), joined("ada", "auditor"), invited("ina")];
    for (const by of [as("ann"), as("ada"), as("nobody"), as("ina")])
      for (const command of [
        invite("new", "auditor", by),
        change("ina", "auditor", by),
        remove("ina", by),
        renew("ina", by),
      ])
        of(...all)
          .when(command)
          .thenRejected("insufficient_scope");
    for (const by of [as("olga"), as("adam"), "api_key"] as Asker[]) {
      of(...all)
        .when(invite("new", "auditor", by))
        .then(invited("new", "auditor"));
      of(...all)
        .when(change("ann", "admin", by))
        .then(changed("ann", "admin"));
      of(...all)
        .when(remove("ada", by))
        .then(removed("ada"));
    }
  });

  it("members leave by themselves, whatever their role", () => {
    of(olga, joined("ann", "approver"))
      .when(remove("ann", as("ann")))
      .then(removed("ann"));
    of(olga, joined("oscar"))
      .when(remove("oscar", as("oscar")))
      .then(removed("oscar"));
  });

  it("an address has one place among the members, however it is spelt", () => {
    of(olga, invited("ann"))
      .when({ ...invite("two", "approver", as("olga")), email: "ANN@Example.com" })
      .then({
        type: "InvitationRenewed",
        data: { memberId: "m-ann", expiresAt: inAWeek },
      });
    of(olga, invited("ann"))
      .when({ ...invite("two", "admin", as("olga")), email: "Ann@example.com" })
      .thenRejected("invalid_request");
    of(olga, invited("ann"), removed("ann"))
      .when(invite("two", "admin", as("olga")))
      .then(invited("two", "admin"));
    of(olga, joined("ann"))
      .when({ ...invite("two", "owner", as("olga")), email: "ann+desk@example.com" })
      .then(invited("two", "owner", "ann+desk@example.com"));
  });

  it("members are known by their present address, not by the one that was invited", () => {
    const ann = joined("ann", "approver");
    const moved = { ...invite("two", "approver", as("olga")), email: "new@example.com", holder: "u-ann" };
    of(olga, ann).when(moved).then();
    of(olga, ann)
      .when({ ...moved, role: "admin" })
      .thenRejected("invalid_request");
    const next = { ...invite("two", "approver", as("olga")), email: "ann@example.com", holder: "u-eve" };
    of(olga, ann)
      .when(next)
      .then(invited("two", "approver", "ann@example.com"));
  });

  it("a workspace has at most 200 members and invitations", () => {
    const others = Array.from({ length: maxMembers - 1 }, (_, n) => invited(`i${n}`));
    of(olga, ...others)
      .when(invite("new", "approver", as("olga")))
      .thenRejected("invalid_request");
    of(olga, ...others.slice(1))
      .when(invite("new", "approver", as("olga")))
      .then(invited("new"));
    of(olga, ...others)
      .when(renew("i3", as("olga")))
      .then(renewed("i3"));
  });

  it("a member is not found by an unknown or removed id", () => {
    for (const command of [
      change("x", "admin", as("olga")),
      remove("x", as("olga")),
      renew("x", as("olga")),
      accept("x"),
    ])
      of(olga, invited("x"), removed("x")).when(command).thenRejected("not_found");
  });

  describe("an invitation", () => {
    it("an invitation is accepted by its address, once", () => {
      of(olga, invited("ann"))
        .when(accept("ann", { email: "ANN@example.com" }))
        .then(accepted("ann"));
      of(olga, invited("ann"), accepted("ann")).when(accept("ann")).then();
      of(olga, invited("ann"), accepted("ann"))
        .when(accept("ann", { userId: "u-eve" }))
        .thenRejected("not_found");
      of(olga, invited("ann"))
        .when(accept("ann", { email: "eve@example.com" }))
        .thenRejected("invalid_request");
      of(olga, invited("ann"))
        .when(accept("ann", { email: "ann+x@example.com" }))
        .thenRejected("invalid_request");
    });

    it("an invitation expires at its time, unless it was sent again", () => {
      of(olga, invited("ann"))
        .when(accept("ann", { at: inAWeek }))
        .thenRejected("invalid_request");
      of(olga, invited("ann"), renewed("ann"))
        .when(accept("ann", { at: inAWeek }))
        .then(accepted("ann"));
      of(olga, invited("ann"), renewed("ann"))
        .when(accept("ann", { at: later }))
        .thenRejected("invalid_request");
    });

    it("an invitation is sent again until it is accepted", () => {
      of(olga, invited("ann"))
        .when(renew("ann", as("olga")))
        .then(renewed("ann"));
      of(olga, invited("ann"), accepted("ann"))
        .when(renew("ann", as("olga")))
        .thenRejected("invalid_status");
    });

    it("an invitation that was withdrawn cannot be accepted", () => {
      of(olga, invited("ann"))
        .when(remove("ann", as("olga")))
        .then(removed("ann"));
      of(olga, invited("ann"), removed("ann")).when(accept("ann")).thenRejected("not_found");
    });

    it("an invitation gives the role that it has when it is accepted", () => {
      const state = fold(memberDecider, [olga, invited("ann"), changed("ann", "auditor"), accepted("ann")]);
      expect(activeMember(state, "u-ann")?.role).to.equal("auditor");
      expect(activeMember(state, "u-eve")).to.equal(undefined);
    });

    it("an invitation is refused to a member who has another address", () => {
      of(olga, invited("ann"))
        .when(accept("ann", { userId: "u-olga" }))
        .thenRejected("invalid_request");
    });
  });

  describe("a first owner", () => {
    const join: MemberCommand = {
      ...{ type: "JoinMember", memberId: "m-olga", userId: "u-olga", email: "olga@example.com", role: "owner" },
      first: true,
    };
    it("a first owner joins while there is no member, once", () => {
      of().when(join).then(olga);
      of(invited("ann", "owner")).when(join).then(olga);
      of(olga).when(join).then();
      of(joined("ann")).when(join).thenRejected("invalid_request");
    });

    it("a first owner takes the place of the invitation to the same address", () => {
      of(invited("ann", "owner", "Olga@example.com"))
        .when(join)
        .then(removed("ann"), olga);
    });
  });
});
