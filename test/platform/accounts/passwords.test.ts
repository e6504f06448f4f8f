import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { pino } from "pino";
import { compose } from "#src/compose.ts";
import { argon2Hasher, boundedLine } from "#src/platform/accounts/argon2.ts";
import { type PasswordHasher, TooManyHashes } from "#src/platform/accounts/passwords.ts";
import { postgresPasswords } from "#src/platform/accounts/postgresPasswords.ts";
import { systemClock } from "#src/platform/clock.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { loadConfig } from "#src/settings/config.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { settingsOn } from "#test/support/settings.ts";

const good = "correct horse battery staple";

/** Wraps a hasher and records its calls. */
function counted(hasher: PasswordHasher) {
  const asked = { hash: 0, verify: 0 };
  const counting: PasswordHasher = {
    hash(password) {
      asked.hash++;
      return hasher.hash(password);
    },
    verify(hash, password) {
      asked.verify++;
      return hasher.verify(hash, password);
    },
    isWeak: hasher.isWeak,
  };
  return { asked, hasher: counting };
}

describe("passwords", () => {
  let test: TestDatabase;
  let database: Database;
  const made = (hasher = argon2Hasher()) => postgresPasswords({ database, hasher, clock: systemClock });
  const kept = async (userId: string): Promise<string> =>
    (await database.query<{ hash: string }>("select hash from work.passwords where user_id = $1", [userId])).rows[0]!
      .hash;

  before(async () => {
    test = await createTestDatabase();
    database = connectDatabase(test);
  });
  after(async () => {
    await database.close();
    await test.drop();
  });

  it("only the newest password matches, and it is stored as Argon2id of 19 MB with two passes", async () => {
    // The passwords as the service composes them.
    const composition = compose(loadConfig(settingsOn(test)), test, { logger: pino({ level: "silent" }) });
    const { passwords } = composition.deps.accounts;
    const [user, other] = [randomUUID(), randomUUID()];
    await passwords.set(user, good);
    await passwords.set(other, "another long password");
    expect(await passwords.matches(user, good)).to.equal(true);
    expect(await passwords.matches(user, `${good} `)).to.equal(false);
    expect(await passwords.matches(other, good)).to.equal(false);
    await passwords.set(user, "a newer password of mine");
    expect(await passwords.matches(user, good)).to.equal(false);
    expect(await kept(user)).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    await composition.close();
  });

  it("a password matches however its letters are composed", async () => {
    const [passwords, user] = [made(), randomUUID()];
    await passwords.set(user, "cre\u0300me bru\u0302le\u0301e \ufb01ne");
    expect(await passwords.matches(user, "cr\u00e8me br\u00fbl\u00e9e fine")).to.equal(true);
  });

  it("a check of an unknown user's password costs the same work as a known user's", async () => {
    const { asked, hasher } = counted(argon2Hasher());
    const [passwords, user] = [made(hasher), randomUUID()];
    await passwords.set(user, good);
    await passwords.matches(null, good);
    for (const who of [user, null, randomUUID()]) {
      const before = { ...asked };
      expect(await passwords.matches(who, "a wrong password"), String(who)).to.equal(false);
      expect([asked.verify - before.verify, asked.hash - before.hash], String(who)).to.deep.equal([1, 0]);
    }
    expect(await passwords.matches(null, "nobody has this password")).to.equal(false);
  });

  it("a password is hashed again at its next match once more memory is configured, and not by a wrong one", async () => {
    const [weaker, today, user] = [made(argon2Hasher({ memoryCost: 8_192 })), made(), randomUUID()];
    await weaker.set(user, good);
    await today.matches(user, "a wrong password");
    expect(await kept(user)).to.include("m=8192");
    expect(await today.matches(user, good)).to.equal(true);
    const renewed = await kept(user);
    expect(renewed).to.include("m=19456");
    expect(await today.matches(user, good)).to.equal(true);
    expect(await kept(user)).to.equal(renewed);
  });

  it("at most four passwords are hashed at once, and a caller beyond a full line is refused", async () => {
    const inLine = boundedLine({ mostAtOnce: 4, longestLine: 3 });
    let [running, most] = [0, 0];
    const ends: (() => void)[] = [];
    const work = () =>
      new Promise<void>((resolve) => {
        most = Math.max(most, ++running);
        ends.push(() => {
          running--;
          resolve();
        });
      });
    const taken = Array.from({ length: 7 }, () => inLine(work));
    const refused = await inLine(work).catch((error) => error);
    expect(refused).to.be.instanceOf(TooManyHashes);
    expect(running).to.equal(4);
    while (ends.length > 0) {
      ends.shift()!();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(taken);
    expect([most, running]).to.deep.equal([4, 0]);
    const again = inLine(async () => "done");
    expect(await again).to.equal("done");
  });
});
