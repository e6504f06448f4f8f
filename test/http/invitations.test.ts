import { expect } from "chai";
import { firstOwnerLink } from "#src/commands/members/invitations.ts";
import { personOf, type UserAccount } from "#src/commands/users/users.ts";
import { deskOf } from "#test/support/desk.ts";
import { atTheDoor, goodPassword, mailedToken } from "#test/support/door.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";

describe("acceptance of an invitation [4 /auth/*]", () => {
  let service: InProcess;
  let workspace: Workspace;
  let counter = 0;
  const freshAddress = () => `invited.${++counter}@people.example`;
  const door = () => atTheDoor(service.url);

  before(async () => {
    // Sign-up needs an invitation.
    service = await startInProcess({ LOG_LEVEL: "silent", SIGN_UP: "invited" });
    workspace = await service.workspace();
    await deskOf(service, workspace.id, { role: "owner" });
  });
  after(() => service.stop());

  const invited = async (email: string, role = "approver") => {
    const { status } = await workspace.ask("POST /v1/members", { json: { email, role } });
    expect(status).to.equal(201);
    return mailedToken(service, { address: email, page: "invitation" });
  };

  it("an accepted invitation makes an account and a member of the invited role, and signs them in", async () => {
    const email = freshAddress();
    const token = await invited(email);
    const page = await door().get(`/invitation/${token}`);
    expect(page.text).to.include(email).and.to.include("approver").and.to.include("Create account and join");
    const visitor = door();
    const weak = await visitor.form("/auth/invitations/accept", { token, password: "password1234" });
    expect([weak.status, weak.text.includes("easy to guess")]).to.deep.equal([422, true]);
    const accepted = await visitor.form("/auth/invitations/accept", { token, password: goodPassword, name: "Bo" });
    expect([accepted.status, accepted.location]).to.deep.equal([303, "/review"]);
    const { body } = await visitor.get("/auth/session");
    expect(body.user).to.include({ email, name: "Bo" });
    expect(body.workspaces).to.deep.equal([{ id: workspace.id, name: "Test", role: "approver" }]);
    expect(body.workspace_id).to.equal(workspace.id);
    const twice = await door().json("/auth/invitations/accept", { token, password: goodPassword });
    expect([twice.status, twice.body.field]).to.deep.equal([422, "token"]);
  });

  it("an invitation without an address leaves the account's address unconfirmed until its mail is confirmed", async () => {
    const { id } = await service.workspace();
    const token = (await firstOwnerLink(service.deps, id))!.split("/").at(-1)!;
    const [email, visitor] = [freshAddress(), door()];
    const accepted = await visitor.json("/auth/invitations/accept", { token, password: goodPassword, email });
    expect(accepted.status).to.equal(200);
    const isConfirmed = async () => (await personOf(service.deps, email).then(stateOf)).isConfirmed;
    const stateOf = async (person: UserAccount | undefined) => (await service.deps.users.load(person!.userId)).state;
    expect(await isConfirmed()).to.equal(false);
    await visitor.json("/auth/email", { new_email: email, password: goodPassword });
    const confirmation = await mailedToken(service, { address: email, page: "new-email" });
    expect((await door().json("/auth/email/confirm", { token: confirmation })).status).to.equal(200);
    expect(await isConfirmed()).to.equal(true);
  });

  it("an address with an account accepts an invitation only when signed in as that account", async () => {
    const [email, other] = [freshAddress(), freshAddress()];
    const first = await invited(email);
    await door().json("/auth/invitations/accept", { token: first, password: goodPassword });
    await door().json("/auth/invitations/accept", { token: await invited(other), password: goodPassword });
    const elsewhere = await service.workspace();
    await deskOf(service, elsewhere.id, { role: "owner" });
    await elsewhere.ask("POST /v1/members", { json: { email, role: "auditor" } });
    const token = await mailedToken(service, { address: email, page: "invitation", mails: 2 });
    expect((await door().get(`/invitation/${token}`)).text).to.include("Sign in to accept");
    const taken = await door().json("/auth/invitations/accept", { token, password: "another long phrase of mine" });
    expect([taken.status, taken.body.field]).to.deep.equal([409, "email"]);
    expect((await door().json("/auth/invitations/accept", { token })).status).to.equal(401);
    const stranger = door();
    await stranger.json("/auth/sign-in", { email: other, password: goodPassword });
    const wrong = await stranger.json("/auth/invitations/accept", { token });
    expect([wrong.status, wrong.body.message]).to.deep.equal([
      422,
      "token: this invitation is for another address: sign in with the address that it was sent to",
    ]);
    const owner = door();
    await owner.json("/auth/sign-in", { email, password: goodPassword });
    // A form acts for a signed-in user only with the form token of that user's page.
    const { text } = await owner.get(`/invitation/${token}`);
    expect((await owner.form("/auth/invitations/accept", { token })).status).to.equal(403);
    const formToken = /name="form_token" value="([^"]+)"/.exec(text)![1]!;
    const accepted = await owner.form("/auth/invitations/accept", { token, form_token: formToken });
    expect([accepted.status, accepted.location]).to.deep.equal([303, "/audit"]);
    const { body: session } = await owner.get("/auth/session");
    expect([session.workspace_id, session.workspaces.length]).to.deep.equal([elsewhere.id, 2]);
    expect((await door().json("/auth/sign-in", { email, password: "another long phrase of mine" })).status).to.equal(
      401,
    );
  });

  it("sign-up is refused and not offered if SIGN_UP is invited", async () => {
    const { status, body } = await door().json("/auth/sign-up", { email: freshAddress() });
    expect([status, body.error]).to.deep.equal([422, "invalid_request"]);
    expect((await door().get("/sign-up")).text).to.include("by invitation");
    expect((await door().get("/sign-in")).text).not.to.include("/sign-up");
  });

  it("an invitation makes no account while SIGN_UP is closed", async () => {
    const token = await invited(freshAddress());
    const { settings } = service.deps;
    settings.signUp = "closed";
    const refused = await door().json("/auth/invitations/accept", { token, password: goodPassword });
    settings.signUp = "invited";
    expect([refused.status, refused.body.field]).to.deep.equal([422, "password"]);
    expect((await door().json("/auth/invitations/accept", { token, password: goodPassword })).status).to.equal(200);
  });

  it("an invitation shows a workspace's name with markup and quotes as plain text", async () => {
    await workspace.ask("PATCH /v1/workspaces/me", {
      json: { name: "<img src=x onerror=alert(1)>”. Sign in at evil" },
    });
    await service.caughtUp();
    const token = await invited(freshAddress());
    const { text } = await door().get(`/invitation/${token}`);
    expect(text).to.include("&lt;img").and.not.to.include("<img");
    expect(text.match(/”/g)).to.have.length(1);
    await workspace.ask("PATCH /v1/workspaces/me", { json: { name: "Test" } });
  });

  it("an invited user changes name and password on the profile page without a script", async () => {
    const email = freshAddress();
    const token = await invited(email);
    const visitor = door();
    await visitor.form("/auth/invitations/accept", { token, password: goodPassword });
    const formTokenOf = (text: string) => /name="form_token" value="([^"]+)"/.exec(text)![1]!;
    const page = await visitor.get("/settings/profile");
    expect(page.status).to.equal(200);
    const fields = { form_token: formTokenOf(page.text) };
    const renamed = await visitor.form("/auth/profile", { ...fields, name: "Bo Ek" });
    expect(renamed.location).to.equal("/settings/profile?done=name_saved");
    expect((await visitor.get(renamed.location!)).text)
      .to.include("Your name is saved")
      .and.to.include("Bo Ek");
    expect((await visitor.form("/auth/profile", { ...fields, name: "" })).status).to.equal(303);
    expect((await visitor.get("/auth/session")).body.user.name).to.equal(null);
    const change = { ...fields, current_password: "not this one at all", password: "another long phrase of mine" };
    const refused = await visitor.form("/auth/password/change", change);
    expect([refused.status, refused.text.includes("That password is not right")]).to.deep.equal([422, true]);
    expect(refused.text).not.to.include("another long phrase");
    const changed = await visitor.form("/auth/password/change", { ...change, current_password: goodPassword });
    expect(changed.location).to.equal("/settings/profile?done=password_set");
    expect((await visitor.get("/settings/profile")).status).to.equal(200);
  });
});
