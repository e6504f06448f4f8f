import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { BadLink, hoursOf } from "#src/platform/accounts/links.ts";
import { postgresLinks } from "#src/platform/accounts/postgresLinks.ts";
import { systemIds } from "#src/platform/clock.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { adjustableClock } from "#test/support/adjustableClock.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const faultOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "good",
    (error) => (error instanceof BadLink ? error.fault : `other: ${error.message}`),
  );

describe("mailed links", () => {
  let test: TestDatabase;
  let database: Database;
  const clock = adjustableClock();
  const links = () => postgresLinks({ database, clock, ids: systemIds });
  const confirm = (subject: string) =>
    ({ kind: "confirm", subject, about: { name: "Ana" }, address: "Ana@example.com" }) as const;

  before(async () => {
    test = await createTestDatabase();
    database = connectDatabase(test);
  });
  after(async () => {
    await database.close();
    await test.drop();
  });

  it("a mailed link can be looked up any number of times, is used once, and says so then", async () => {
    const token = await links().issue(confirm(randomUUID()));
    expect(token).to.match(/^[\w-]{43}$/);
    for (const _ of [1, 2]) expect(await links().find("confirm", token)).to.deep.include({ about: { name: "Ana" } });
    expect(await links().take("confirm", token)).to.include({ address: "Ana@example.com" });
    expect(await faultOf(links().take("confirm", token))).to.equal("used");
    expect(await faultOf(links().find("confirm", token))).to.equal("used");
  });

  it("a mailed link is valid for its kind alone, and unknown otherwise", async () => {
    const token = await links().issue(confirm(randomUUID()));
    for (const kind of ["reset", "email", "invitation"] as const)
      expect(await faultOf(links().take(kind, token)), kind).to.equal("unknown");
    expect(await faultOf(links().take("confirm", "x".repeat(43)))).to.equal("unknown");
    expect(await faultOf(links().take("confirm", token))).to.equal("good");
  });

  it("a mailed link is replaced by the newest of its kind and subject, and by no other", async () => {
    const [mine, others] = [randomUUID(), randomUUID()];
    const first = await links().issue(confirm(mine));
    const another = await links().issue(confirm(others));
    const reset = await links().issue({ ...confirm(mine), kind: "reset" });
    const second = await links().issue(confirm(mine));
    expect(await faultOf(links().take("confirm", first))).to.equal("replaced");
    expect(await faultOf(links().find("confirm", first))).to.equal("replaced");
    for (const token of [second, another]) expect(await faultOf(links().take("confirm", token))).to.equal("good");
    await links().withdraw("reset", mine);
    expect(await faultOf(links().take("reset", reset))).to.equal("replaced");
  });

  it("of many links that are requested at once, one is valid", async () => {
    const subject = randomUUID();
    const tokens = await Promise.all(Array.from({ length: 8 }, () => links().issue(confirm(subject))));
    const faults = await Promise.all(tokens.map((token) => faultOf(links().find("confirm", token))));
    expect(faults.filter((fault) => fault === "good")).to.have.length(1);
  });

  it("a mailed link is valid for the hours of its kind", async () => {
    for (const kind of ["confirm", "reset", "email", "invitation"] as const) {
      const [early, late] = [randomUUID(), randomUUID()];
      const tokens = [
        await links().issue({ ...confirm(early), kind }),
        await links().issue({ ...confirm(late), kind }),
      ] as const;
      clock.advance(hoursOf[kind] * 3_600_000 - 1_000);
      expect(await faultOf(links().take(kind, tokens[0])), kind).to.equal("good");
      clock.advance(2_000);
      expect(await faultOf(links().take(kind, tokens[1])), kind).to.equal("expired");
    }
    expect(hoursOf).to.deep.equal({ confirm: 72, reset: 1, email: 72, invitation: 168 });
  });

  it("a mailed link is used by one of many concurrent callers", async () => {
    const token = await links().issue(confirm(randomUUID()));
    let used = 0;
    const ends = await Promise.all(
      Array.from({ length: 8 }, () => faultOf(links().use("confirm", token, async () => used++))),
    );
    expect(used).to.equal(1);
    expect(ends.filter((end) => end === "good")).to.have.length(1);
    expect(ends.filter((end) => end === "used" || end === "in_use")).to.have.length(7);
  });

  it("a mailed link stays valid if its use failed, and returns a minute after a crash in its use", async () => {
    const token = await links().issue(confirm(randomUUID()));
    const failed = links().use("confirm", token, () => Promise.reject(new Error("the log is away")));
    expect(await faultOf(failed)).to.equal("other: the log is away");
    expect(await faultOf(links().find("confirm", token))).to.equal("good");
    // A caller that never returns, as if its process had ended there.
    await new Promise<void>((begun) => {
      const forEver = () => {
        begun();
        return new Promise(() => {});
      };
      void links().use("confirm", token, forEver);
    });
    expect(await faultOf(links().take("confirm", token))).to.equal("in_use");
    expect(await faultOf(links().find("confirm", token))).to.equal("good");
    clock.advance(61_000);
    expect(await faultOf(links().take("confirm", token))).to.equal("good");
  });

  it("mailed links are stored as hashes", async () => {
    const token = await links().issue(confirm(randomUUID()));
    const { rows } = await database.query<{ all: string }>(
      "select coalesce(string_agg(l::text, ' '), '') as all from work.links l",
    );
    expect(rows[0]!.all).to.include("Ana@example.com");
    for (const form of [token, Buffer.from(token).toString("hex"), Buffer.from(token, "base64url").toString("hex")])
      expect(rows[0]!.all).not.to.include(form);
  });
});
