import { expect } from "chai";
import { atTheDoor, goodPassword, mailedToken, mailsTo, newUser } from "#test/support/door.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";

const wrong = "a wrong password of somebody";

describe("rate limits of sign-in and mailed links [8 /auth/*]", () => {
  let service: InProcess;
  let counter = 0;
  const freshAddress = () => `limit.${++counter}@people.example`;
  const from = (ip: string) => ({ "X-Forwarded-For": ip });
  const door = () => atTheDoor(service.url);

  before(async () => {
    service = await startInProcess({
      LOG_LEVEL: "silent",
      TRUST_PROXY: "1",
      RATE_LIMIT_AUTH: "4",
      RATE_LIMIT_BAD_LINK: "4",
      SERVICE_MAIL_PER_HOUR: "3,300,600,3000",
    });
  });
  after(() => service.stop());

  const signIn = (email: string, { password = wrong, ip }: { password?: string; ip: string }) =>
    door().json("/auth/sign-in", { email, password }, from(ip));

  it("failed sign-ins are limited by IP address; the answers say what is left and when to retry", async () => {
    for (let left = 3; left >= 0; left--) {
      const { status, headers } = await signIn(freshAddress(), { ip: "192.0.2.1" });
      expect(status).to.equal(401);
      expect(headers.get("ratelimit")).to.match(new RegExp(`^"auth"; r=${left}; t=\\d+$`));
    }
    const { status, body, headers } = await signIn(freshAddress(), { ip: "192.0.2.1" });
    expect([status, body.error]).to.deep.equal([429, "rate_limited"]);
    expect(Number(headers.get("retry-after"))).to.be.within(1, 60);
    expect((await signIn(freshAddress(), { ip: "198.51.100.1" })).status).to.equal(401);
    const other = await door().json("/auth/password/forgot", { email: freshAddress() }, from("192.0.2.1"));
    expect(other.status, "another class").to.equal(202);
  });

  it("failed sign-ins to one account from one network are counted together; another network is not refused", async () => {
    const { user } = await newUser(service, { email: freshAddress() });
    for (let n = 1; n <= 4; n++)
      expect((await signIn(user.email, { ip: `203.0.113.${n}` })).status, String(n)).to.equal(401);
    const guessed = await signIn(user.email.toUpperCase(), { password: goodPassword, ip: "203.0.113.77" });
    expect(guessed.status, "even the right one, from there").to.equal(429);
    expect((await signIn(user.email, { password: goodPassword, ip: "198.51.100.7" })).status).to.equal(200);
    expect((await signIn(freshAddress(), { ip: "203.0.113.78" })).status, "another account").to.equal(401);
  });

  it("successful sign-ins do not count towards an account's limit", async () => {
    const { user } = await newUser(service, { email: freshAddress() });
    for (let n = 1; n <= 5; n++)
      expect((await signIn(user.email, { password: goodPassword, ip: `198.18.0.${n}` })).status, String(n)).to.equal(
        200,
      );
  });

  it("parallel failed sign-ins get no more attempts than sequential ones", async () => {
    const { user } = await newUser(service, { email: freshAddress() });
    const answers = await Promise.all(
      Array.from({ length: 7 }, (_, n) => signIn(user.email, { ip: `198.19.0.${n + 1}` })),
    );
    expect(answers.filter(({ status }) => status === 401)).to.have.length(4);
    expect(answers.filter(({ status }) => status === 429)).to.have.length(3);
  });

  it("unknown links are limited by IP address; a valid link is still shown to that address", async () => {
    const ip = "192.0.2.99";
    for (const page of ["confirm", "reset", "new-email", "invitation"])
      expect((await door().get(`/${page}/${"x".repeat(43)}`, from(ip))).status, page).to.equal(200);
    for (const page of ["confirm", "reset", "new-email", "invitation"]) {
      const { status, headers } = await door().get(`/${page}/${"x".repeat(43)}`, from(ip));
      expect(status, page).to.equal(429);
      expect(Number(headers.get("retry-after")), page).to.be.within(1, 60);
    }
    const email = freshAddress();
    await door().json("/auth/sign-up", { email }, from("192.0.2.98"));
    const token = await mailedToken(service, { address: email, page: "confirm" });
    expect((await door().get(`/confirm/${token}`, from(ip))).text).to.include(email);
  });

  it("password mails are limited per hour and mailbox, whether or not it has an account", async () => {
    const { user } = await newUser(service, { email: freshAddress() });
    const unknown = freshAddress();
    const statuses = async (email: string) => {
      const seen = [];
      for (let n = 0; n < 4; n++) {
        const { status } = await door().json("/auth/password/forgot", { email }, from(`10.${n}.${counter}.1`));
        seen.push(status);
      }
      return seen;
    };
    expect((await statuses(unknown)).filter((status) => status === 202)).to.have.length(3);
    // Sign-ups that strangers request for this address do not use up its limit of password mails.
    const signUp = () => door().json("/auth/sign-up", { email: user.email }, from(`10.0.${counter}.2`));
    expect((await Promise.all([signUp(), signUp(), signUp()])).map(({ status }) => status)).to.include(429);
    const known = await statuses(user.email);
    expect(known.filter((status) => status === 202)).to.have.length(3);
    expect(new Set(known)).to.deep.equal(new Set([202, 429]));
    expect(await mailsTo(service, unknown)).to.deep.equal([]);
  });
});
