import { expect } from "chai";
import { operator } from "#test/support/cause.ts";
import { atTheDoor, goodPassword, mailedToken, mailsTo, newUser } from "#test/support/door.ts";
import { type InProcess, startInProcess, until } from "#test/support/inProcess.ts";

const another = "a lighthouse keeps eleven secrets";

describe("accounts and sessions [4 /auth/*]", () => {
  let service: InProcess;
  let counter = 0;
  const freshAddress = (name = "ana") => `${name}.${++counter}@people.example`;
  const door = () => atTheDoor(service.url);

  before(async () => {
    service = await startInProcess({ LOG_LEVEL: "silent" });
  });
  after(() => service.stop());

  const eventsOf = async (stream: string) =>
    (await service.store.readPage(stream, { from: 0, events: 100, bytes: 1e6 })).events;

  describe("sign-up", () => {
    it("sign-up mails a link; its confirmation makes a user and their workspace and signs them in", async () => {
      const email = freshAddress("Ana");
      const visitor = door();
      const asked = await visitor.json("/auth/sign-up", { email, name: "Ana", workspace_name: "Harbour & Co" });
      expect([asked.status, asked.body]).to.deep.equal([202, { mailed: true }]);
      const token = await mailedToken(service, { address: email, page: "confirm" });
      expect((await visitor.get("/auth/session")).status).to.equal(401);

      const confirmed = await visitor.json("/auth/confirm", { token, password: goodPassword });
      expect(confirmed.status).to.equal(201);
      const { user, workspaces, workspace_id: workspaceId } = confirmed.body;
      expect(user).to.include({ email, name: "Ana" });
      expect(workspaces).to.deep.equal([{ id: workspaceId, name: "Harbour & Co", role: "owner" }]);
      expect((await service.deps.workspaces.load(workspaceId)).state).to.include({ plan: "builder_pack" });
      expect((await visitor.get("/auth/session")).body).to.deep.equal(confirmed.body);
      expect((await eventsOf(`user-${user.id}`)).map(({ type }) => type)).to.deep.equal([
        ...["UserRegistered", "PasswordSet", "SignedIn"],
      ]);
    });

    it("sign-up answers every address alike; an address that has an account gets a mail that says so", async () => {
      const email = freshAddress();
      await newUser(service, { email });
      const [known, unknown] = [
        await door().json("/auth/sign-up", { email: email.toUpperCase().replace("PEOPLE.EXAMPLE", "people.example") }),
        await door().json("/auth/sign-up", { email: freshAddress() }),
      ];
      expect([known.status, known.text]).to.deep.equal([unknown.status, unknown.text]);
      await until(async () => (await mailsTo(service, email)).length === 2);
      const [newest] = await mailsTo(service, email);
      expect(newest!.subject).to.equal("You already have an account");
      expect(newest!.text).not.to.match(/[\w-]{43}/);
    });

    it("a stranger who signs up with somebody's address gets no account; the mailbox's reader sets the password", async () => {
      const email = freshAddress("colleague");
      const attacker = door();
      await attacker.json("/auth/sign-up", { email, name: "Not You", workspace_name: "Mine" });
      expect((await attacker.json("/auth/sign-in", { email, password: goodPassword })).status).to.equal(401);
      const first = await mailedToken(service, { address: email, page: "confirm" });
      const [mail] = await mailsTo(service, email);
      for (const word of ["Not You", "Mine"])
        expect(`${mail!.subject} ${mail!.text} ${mail!.html}`).not.to.include(word);
      const colleague = door();
      await colleague.json("/auth/sign-up", { email, name: "Colleague" });
      const second = await mailedToken(service, { address: email, page: "confirm", mails: 2 });
      expect((await attacker.json("/auth/confirm", { token: first, password: another })).status).to.equal(422);
      const confirmed = await colleague.json("/auth/confirm", { token: second, password: goodPassword });
      expect(confirmed.body.user.name).to.equal("Colleague");
      expect((await attacker.json("/auth/sign-in", { email, password: another })).status).to.equal(401);
    });

    it("a sign-up link works once, however often its page was opened before", async () => {
      const email = freshAddress();
      await door().json("/auth/sign-up", { email });
      const token = await mailedToken(service, { address: email, page: "confirm" });
      for (const _ of [1, 2, 3]) {
        const page = await door().get(`/confirm/${token}`);
        expect(page.status).to.equal(200);
        expect(page.text).to.include(email).and.to.include('autocomplete="new-password"');
      }
      expect((await door().json("/auth/confirm", { token, password: goodPassword })).status).to.equal(201);
      const twice = await door().json("/auth/confirm", { token, password: goodPassword });
      expect([twice.status, twice.body.field]).to.deep.equal([422, "token"]);
      expect(twice.body.message).to.include("already used");
      expect((await door().get(`/confirm/${token}`)).text).to.include("already used");
    });

    it("a confirmation that crashed between any two of its appends succeeds when the same link is used again", async () => {
      for (let crashAt = 0; crashAt < 5; crashAt++) {
        const email = freshAddress("crash");
        await door().json("/auth/sign-up", { email });
        const token = await mailedToken(service, { address: email, page: "confirm" });
        const { deps } = service;
        const [streams, place] = (
          [
            ["userEmails", "handle"],
            ["users", "handle"],
            ["workspaces", "handle"],
            ["members", "handle"],
          ] as const
        )[crashAt] ?? ["users", "second"];
        const original = deps[streams].handle;
        let calls = 0;
        deps[streams].handle = (async (...given: Parameters<typeof original>) => {
          if (++calls === (place === "second" ? 2 : 1)) throw new Error("the process ended here");
          return (original as (...all: unknown[]) => unknown)(...given);
        }) as never;
        const failed = await door().json("/auth/confirm", { token, password: goodPassword });
        deps[streams].handle = original as never;
        expect(failed.status, streams).to.equal(500);
        const again = await door().json("/auth/confirm", { token, password: another });
        expect(again.status, streams).to.equal(201);
        expect(again.body.workspaces, streams).to.have.length(1);
        // The password of the attempt that succeeded is set, not the first one.
        expect((await door().json("/auth/sign-in", { email, password: another })).status).to.equal(200);
        expect((await door().json("/auth/sign-in", { email, password: goodPassword })).status).to.equal(401);
      }
    });

    it("a password that is common, short, like the address or of 10 kB is refused, and the link stays usable", async () => {
      const email = freshAddress("harbour.master");
      await door().json("/auth/sign-up", { email });
      const token = await mailedToken(service, { address: email, page: "confirm" });
      for (const password of ["password1234", "short", "harbourmaster", "kvz".repeat(3_414)]) {
        const { status, body } = await door().json("/auth/confirm", { token, password });
        expect([status, body.error, body.field], password.slice(0, 20)).to.deep.equal([
          422,
          "invalid_request",
          "password",
        ]);
      }
      expect((await door().json("/auth/confirm", { token, password: goodPassword })).status).to.equal(201);
    });

    it("sign-up accepts only plain ASCII addresses, and names in any script", async () => {
      for (const email of [
        "ana@exämple.org",
        "аna@people.example",
        "a@b@people.example",
        "ana@people.example\r\nBcc: x@y.z",
      ]) {
        const { status, body } = await door().json("/auth/sign-up", { email });
        expect([status, body.field], email).to.deep.equal([422, "email"]);
      }
      const email = freshAddress();
      await door().json("/auth/sign-up", { email, name: "Аня 安娜 \u202eanA" });
      const token = await mailedToken(service, { address: email, page: "confirm" });
      const { body } = await door().json("/auth/confirm", { token, password: goodPassword });
      expect(body.user.name).to.equal("Аня 安娜 \u202eanA");
    });
  });

  describe("sign-in", () => {
    it("an unknown address, a wrong password and a disabled user get the same refusal, each after one hash", async () => {
      const [known, disabled] = [freshAddress(), freshAddress()];
      await newUser(service, { email: known });
      const { user } = await newUser(service, { email: disabled });
      const cause = {
        actor: { kind: "operator", id: "operator" },
        workspaceId: null,
        correlationId: "x",
        causationId: "x",
      } as const;
      await service.deps.users.handle(user.id, { type: "DisableUser" }, cause);
      const { passwords } = service.deps.accounts;
      const original = passwords.matches;
      const asked: (string | null)[] = [];
      passwords.matches = (userId, password) => {
        asked.push(userId);
        return original(userId, password);
      };
      const answers = [];
      for (const [email, password] of [
        [known, "a wrong password of mine"],
        [disabled, goodPassword],
        [freshAddress("nobody"), goodPassword],
      ] as const)
        answers.push(await door().json("/auth/sign-in", { email, password }));
      passwords.matches = original;
      for (const { status, body, headers } of answers) {
        expect([status, body.error, body.message]).to.deep.equal([
          401,
          "unauthorized",
          "the address or the password is wrong",
        ]);
        expect(headers.get("set-cookie")).to.equal(null);
      }
      // One hash is computed for each. A separate test shows that the hash for an unknown user takes the same time.
      expect(asked).to.have.length(3);
      expect(asked.slice(1)).to.deep.equal([null, null]);
    });

    it("sign-in accepts the address in lower case if it was registered with capitals", async () => {
      const email = freshAddress("Grace.Hopper");
      await newUser(service, { email });
      expect(
        (await door().json("/auth/sign-in", { email: email.toLowerCase(), password: goodPassword })).status,
      ).to.equal(200);
    });

    it("sign-in starts a new session and ends one that was planted in the browser", async () => {
      const [mine, theirs] = [
        await newUser(service, { email: freshAddress() }),
        await newUser(service, { email: freshAddress() }),
      ];
      const planted = mine.door.cookie()!;
      const victim = atTheDoor(service.url, { cookie: planted });
      const signedIn = await victim.json("/auth/sign-in", { email: theirs.user.email, password: goodPassword });
      expect(signedIn.status).to.equal(200);
      expect(victim.cookie()).not.to.equal(planted);
      expect((await atTheDoor(service.url, { cookie: planted }).get("/auth/session")).status).to.equal(401);
      const cookie = signedIn.headers.get("set-cookie")!;
      expect(cookie).to.include("HttpOnly").and.to.include("SameSite=Lax").and.to.include("Path=/");
      expect((await victim.get("/auth/session")).body.user.id).to.equal(theirs.user.id);
      // An invented session id is no session.
      expect(
        (await atTheDoor(service.url, { cookie: `countersign=${"x".repeat(43)}` }).get("/auth/session")).status,
      ).to.equal(401);
    });

    it("sign-out ends the session, also for a copy of its cookie", async () => {
      const { door: visitor } = await newUser(service, { email: freshAddress() });
      const stolen = visitor.cookie()!;
      const out = await visitor.json("/auth/sign-out");
      expect([out.status, out.body]).to.deep.equal([200, { done: true }]);
      expect(visitor.cookie()).to.equal(undefined);
      expect((await atTheDoor(service.url, { cookie: stolen }).get("/auth/session")).status).to.equal(401);
      expect((await atTheDoor(service.url, { cookie: stolen }).json("/auth/sign-out")).status).to.equal(401);
    });

    it("a request in flight when its session is ended elsewhere is answered 401", async () => {
      const email = freshAddress();
      const { door: one } = await newUser(service, { email });
      const other = door();
      await other.json("/auth/sign-in", { email, password: goodPassword });
      const [{ id: workspaceId }] = (await other.get("/auth/session")).body.workspaces;
      const { members } = service.deps;
      const { load } = members;
      let release = () => {};
      const gate = new Promise<void>((resolve) => (release = resolve));
      const reached = new Promise<void>((resolve) => {
        members.load = async (id) => {
          // Background work loads the members of other workspaces.
          if (id !== workspaceId) return load(id);
          members.load = load;
          resolve();
          await gate;
          return load(id);
        };
      });
      const asked = other.get("/auth/session");
      await reached;
      const ended = one.json("/auth/sign-out-everywhere");
      await Promise.race([asked, ended]);
      release();
      const { status, body } = await asked;
      expect([status, body.message]).to.deep.equal([401, "you are not signed in: sign in first"]);
      expect((await ended).status).to.equal(200);
    });

    it("HEAD /auth/session answers 200 with a session, 401 without one, and refuses another site's request", async () => {
      const { door: visitor } = await newUser(service, { email: freshAddress() });
      const head = (headers: Record<string, string>) =>
        fetch(`${service.url}/auth/session`, { method: "HEAD", headers });
      const cookie = visitor.cookie()!;
      expect((await head({ cookie })).status).to.equal(200);
      expect((await head({ cookie, "Sec-Fetch-Site": "none" })).status).to.equal(200);
      expect((await head({ cookie, "Sec-Fetch-Site": "cross-site" })).status).to.equal(422);
      expect((await head({})).status).to.equal(401);
    });

    it("sign-out everywhere ends the user's other sessions and is recorded", async () => {
      const email = freshAddress();
      const { door: one, user } = await newUser(service, { email });
      const other = door();
      await other.json("/auth/sign-in", { email, password: goodPassword });
      expect((await one.json("/auth/sign-out-everywhere")).status).to.equal(200);
      expect((await other.get("/auth/session")).status).to.equal(401);
      expect((await eventsOf(`user-${user.id}`)).at(-1)).to.deep.include({
        type: "SessionsEnded",
        data: { because: "asked" },
      });
    });
  });

  describe("changes of passwords", () => {
    it("a password is reset by the newest mailed link, which ends every session", async () => {
      const email = freshAddress();
      const { door: visitor } = await newUser(service, { email });
      const [known, unknown] = [
        await door().json("/auth/password/forgot", { email }),
        await door().json("/auth/password/forgot", { email: freshAddress("nobody") }),
      ];
      expect([known.status, known.text]).to.deep.equal([202, unknown.text]);
      expect(unknown.status).to.equal(202);
      const first = await mailedToken(service, { address: email, page: "reset" });
      await door().json("/auth/password/forgot", { email });
      const token = await mailedToken(service, { address: email, page: "reset", mails: 2 });
      const older = await door().json("/auth/password/reset", { token: first, password: another });
      expect([older.status, older.body.message]).to.deep.equal([
        422,
        "token: a newer mail has replaced this link: use the newest one",
      ]);
      expect((await visitor.get("/auth/session")).status).to.equal(200);
      expect((await door().json("/auth/password/reset", { token, password: another })).status).to.equal(200);
      expect((await visitor.get("/auth/session")).status).to.equal(401);
      expect((await door().json("/auth/sign-in", { email, password: goodPassword })).status).to.equal(401);
      expect((await door().json("/auth/sign-in", { email, password: another })).status).to.equal(200);
      expect((await door().json("/auth/password/reset", { token, password: goodPassword })).body.message).to.include(
        "already used",
      );
      await until(async () =>
        (await mailsTo(service, email)).some(({ subject }) => subject === "Your password has changed"),
      );
    });

    it("a forgotten password sends no mail to an address without an account", async () => {
      const email = freshAddress("nobody");
      await door().json("/auth/password/forgot", { email });
      const later = freshAddress();
      await door().json("/auth/sign-up", { email: later });
      await mailedToken(service, { address: later, page: "confirm" });
      expect(await mailsTo(service, email)).to.deep.equal([]);
    });

    it("a user who knows the old password can change it; the other sessions end and the own cookie is replaced", async () => {
      const email = freshAddress();
      const { door: visitor } = await newUser(service, { email });
      const other = door();
      await other.json("/auth/sign-in", { email, password: goodPassword });
      const before = visitor.cookie()!;
      const wrong = await visitor.json("/auth/password/change", { current_password: another, password: another });
      expect([wrong.status, wrong.body.field]).to.deep.equal([422, "current_password"]);
      const changed = await visitor.json("/auth/password/change", {
        current_password: goodPassword,
        password: another,
      });
      expect(changed.status).to.equal(200);
      expect((await other.get("/auth/session")).status).to.equal(401);
      expect(visitor.cookie()).not.to.equal(before);
      expect((await visitor.get("/auth/session")).status).to.equal(200);
      // A copy of the old cookie is invalid as soon as the change is answered.
      expect((await atTheDoor(service.url, { cookie: before }).get("/auth/session")).status).to.equal(401);
      expect((await door().json("/auth/sign-in", { email, password: goodPassword })).status).to.equal(401);
    });
  });

  describe("a new password", () => {
    it("a changed password cancels a change of address that somebody with the old password asked for", async () => {
      const [email, thiefs] = [freshAddress(), freshAddress("thief")];
      const { door: visitor } = await newUser(service, { email });
      const thief = door();
      await thief.json("/auth/sign-in", { email, password: goodPassword });
      expect((await thief.json("/auth/email", { new_email: thiefs, password: goodPassword })).status).to.equal(202);
      const token = await mailedToken(service, { address: thiefs, page: "new-email" });
      const change = { current_password: goodPassword, password: another };
      expect((await visitor.json("/auth/password/change", change)).status).to.equal(200);
      expect((await thief.json("/auth/email/confirm", { token })).status).to.equal(422);
      expect((await door().json("/auth/sign-in", { email, password: another })).body.user.email).to.equal(email);
    });

    it("a sign-in with the old password while it is being reset gets no session", async () => {
      const { user } = await newUser(service, { email: freshAddress() });
      const { passwords, sessions } = service.deps.accounts;
      const { matches } = passwords;
      const racer = door();
      try {
        // The old password is compared first; then a reset happens, in its three steps, before the comparison returns.
        passwords.matches = async (userId, password) => {
          const isRight = await matches(userId, password);
          await passwords.set(user.id, another);
          await service.deps.users.handle(user.id, { type: "RecordPassword", because: "reset" }, operator());
          await sessions.endAll(user.id);
          return isRight;
        };
        const signedIn = await racer.json("/auth/sign-in", { email: user.email, password: goodPassword });
        expect(signedIn.status).to.equal(401);
      } finally {
        passwords.matches = matches;
      }
      expect(await sessions.list(user.id)).to.deep.equal([]);
      expect((await racer.get("/auth/session")).status).to.equal(401);
    });
  });

  describe("change of address", () => {
    it("an address changes when the mail to the new one is confirmed; the old one is notified and cannot sign in", async () => {
      const [old, fresh] = [freshAddress("old"), freshAddress("new")];
      const { door: visitor, user } = await newUser(service, { email: old });
      await door().json("/auth/password/forgot", { email: old });
      const reset = await mailedToken(service, { address: old, page: "reset" });
      const wrong = await visitor.json("/auth/email", { new_email: fresh, password: another });
      expect([wrong.status, wrong.body.field]).to.deep.equal([422, "password"]);
      expect((await visitor.json("/auth/email", { new_email: fresh, password: goodPassword })).status).to.equal(202);
      const token = await mailedToken(service, { address: fresh, page: "new-email" });
      await until(async () =>
        (await mailsTo(service, old)).some(({ subject }) => subject === "Your address is about to change"),
      );
      expect((await door().json("/auth/sign-in", { email: fresh, password: goodPassword })).status).to.equal(401);
      expect((await door().json("/auth/email/confirm", { token })).status).to.equal(200);
      const signedIn = await door().json("/auth/sign-in", { email: fresh, password: goodPassword });
      expect(signedIn.body.user).to.include({ id: user.id, email: fresh });
      expect((await door().json("/auth/sign-in", { email: old, password: goodPassword })).status).to.equal(401);
      // A reset link in the old mailbox is invalid.
      expect((await door().json("/auth/password/reset", { token: reset, password: another })).status).to.equal(422);
      // The old address can be registered again.
      await newUser(service, { email: old }).catch(() => undefined);
      expect(
        (await service.deps.userEmails.load((await import("#src/commands/users/users.ts")).userEmailHash(old))).state
          .userId,
      ).not.to.equal(user.id);
    });

    it("a change to an address that has an account changes nothing, and its answer does not say so", async () => {
      const [mine, theirs] = [freshAddress("mine"), freshAddress("theirs")];
      const { door: visitor } = await newUser(service, { email: mine });
      await newUser(service, { email: theirs });
      const asked = await visitor.json("/auth/email", { new_email: theirs, password: goodPassword });
      expect([asked.status, asked.body]).to.deep.equal([202, { mailed: true }]);
      await until(async () => (await mailsTo(service, theirs)).length === 2);
      expect((await mailsTo(service, theirs))[0]!.text).not.to.match(/[\w-]{43}/);
    });
  });

  describe("workspaces of a user", () => {
    it("a user switches between their own workspaces and makes new ones; another's workspace is not found", async () => {
      const [me, other] = [
        await newUser(service, { email: freshAddress() }),
        await newUser(service, { email: freshAddress() }),
      ];
      const foreign = await me.door.json("/auth/workspace", { workspace_id: other.workspaceId });
      expect([foreign.status, foreign.body.error]).to.deep.equal([404, "not_found"]);
      const before = me.door.cookie();
      const made = await me.door.json("/auth/workspaces", { name: "The second" });
      expect(made.status).to.equal(201);
      expect(me.door.cookie()).not.to.equal(before);
      expect(made.body.workspaces.map(({ name }: { name: string }) => name)).to.have.members([
        "My workspace",
        "The second",
      ]);
      expect(made.body.workspace_id).not.to.equal(me.workspaceId);
      const back = await me.door.json("/auth/workspace", { workspace_id: me.workspaceId });
      expect(back.body.workspace_id).to.equal(me.workspaceId);
    });

    it("a signed-in user can change their name; without a session this is refused", async () => {
      const { door: visitor } = await newUser(service, { email: freshAddress() });
      expect((await visitor.json("/auth/profile", { name: "Ana Lima" })).body.user.name).to.equal("Ana Lima");
      expect((await visitor.get("/auth/session")).body.user.name).to.equal("Ana Lima");
      expect((await door().json("/auth/profile", { name: "Ana" })).status).to.equal(401);
    });
  });
});
