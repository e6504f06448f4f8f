import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { userDecider } from "#streams/user/decider.ts";
import type { UserEvent } from "#streams/user/events.ts";
import { given } from "#test/support/given.ts";

const registered = (unconfirmed?: true): UserEvent => ({
  type: "UserRegistered",
  data: { email: "ann@people.example", name: null, ...(unconfirmed && { unconfirmed }) },
});
const passwordSet = (because: "registered" | "reset" = "registered"): UserEvent => ({
  type: "PasswordSet",
  data: { because },
});
const signIn = (passwords?: number) =>
  ({ type: "RecordSignIn", sessionId: "s", ...(passwords !== undefined && { passwords }) }) as const;
const signedIn: UserEvent = { type: "SignedIn", data: { sessionId: "s" } };
const changeTo = (email: string) => ({ type: "ChangeUserEmail", email }) as const;
const changed = (email: string): UserEvent => ({ type: "UserEmailChanged", data: { email } });

describe("a user", () => {
  it("a sign-in with a password that was replaced while it was checked is refused", () => {
    const user = given(userDecider, registered(), passwordSet());
    user.when(signIn(1)).then(signedIn);
    user.when(signIn()).then(signedIn);
    given(userDecider, registered(), passwordSet(), passwordSet("reset")).when(signIn(1)).thenRejected("unauthorized");
  });

  it("a disabled user is not signed in", () => {
    given(userDecider, registered(), passwordSet(), { type: "UserDisabled", data: {} })
      .when(signIn(1))
      .thenRejected("unauthorized");
  });

  it("a user has confirmed an address by reading mail there, also one that was only named before", () => {
    expect(fold(userDecider, [registered()]).isConfirmed).to.equal(true);
    given(userDecider, registered()).when(changeTo("ann@people.example")).then();
    expect(fold(userDecider, [registered(true)]).isConfirmed).to.equal(false);
    given(userDecider, registered(true)).when(changeTo("ann@people.example")).then(changed("ann@people.example"));
    expect(fold(userDecider, [registered(true), changed("ann@people.example")]).isConfirmed).to.equal(true);
    expect(fold(userDecider, [registered(true), changed("new@people.example")]).isConfirmed).to.equal(true);
  });
});
