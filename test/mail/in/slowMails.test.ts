import { createHash } from "node:crypto";
import { expect } from "chai";
import { createMailAuthenticator } from "#src/mail/in/authentication/authenticator.ts";
import { createHeaderReader } from "#src/mail/in/headerReader.ts";
import { createMailParser } from "#src/mail/in/parse.ts";
import { systemClock } from "#src/platform/clock.ts";
import { eachOf } from "#src/platform/dns/resolver.ts";
import { createThreadPool, type ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import { longestHold } from "#test/support/processorTime.ts";
import { rotated } from "#test/support/rotated.ts";
import { fixture } from "./mails.ts";
import { emptyLines, headerMail, type SlowMail, slowMails } from "./slowMails.ts";

/** Reads, parses and authenticates strangers' mail in the threads of one pool. */
describe("mail made to keep the parsers busy", function () {
  this.timeout(600_000);
  // As in the service, except for the time of slow jobs, which must suffice on a busy machine.
  const slowMs = 120_000;
  let pool: ThreadPool;
  before(() => {
    pool = createThreadPool({ slowMs, slowPerMinuteMs: 10 * slowMs });
  });
  after(() => pool.close());

  const nobody = { outcome: "missing" } as const;
  const resolver = eachOf({} as never, () => async () => nobody);
  const hash = (raw: Buffer) => createHash("sha256").update(raw).digest("hex");

  async function readAll(raw: Buffer, turn: string) {
    const [rawSha256, envelopeFrom] = [hash(raw), "a@x.example"];
    const headers = await createHeaderReader(() => false).read(raw, { rawSha256, envelopeFrom });
    const parsed = await createMailParser(pool).parse(raw, { turn, sha256: rawSha256 });
    const authenticator = createMailAuthenticator({ resolver, clock: systemClock, pool });
    const sender = { address: headers.from?.address ?? null, fromCount: headers.fromCount };
    const remote = { ip: "192.0.2.1", helo: "x.example" };
    const authentication = await authenticator.authenticate(
      { withRaw: (work) => work(raw), envelopeFrom, remote, turn },
      sender,
    );
    return { headers, parsed, authentication };
  }

  it("slow mail is read completely, and another identity's mail is read meanwhile", async () => {
    const parsers = Object.values(slowMails);
    const all = parsers.flatMap((mails, turn) => rotated<SlowMail>(mails(), turn, 1));
    await readAll(fixture("question"), "first");
    const served: string[] = [];
    const heldMs = await longestHold(async () => {
      const flood = all.map(async ({ name, raw }) => {
        const read = await readAll(raw, "flooded").finally(() => served.push(name));
        expect(read.parsed.unreadable ?? "", name).to.not.match(/took too much|took more|crashed|failed/);
        expect(read.authentication.aligned, name).to.equal(false);
      });
      const other = readAll(fixture("answer"), "other").finally(() => served.push("other"));
      await Promise.all([...flood, other]);
    });
    // Another identity's mail waits only for the jobs that had begun.
    expect(served.indexOf("other"), served.join(", ")).to.be.below(5);
    expect(pool.counts()).to.include({ givenUp: 0, slowAtOnce: Math.min(1, pool.counts().slowAtOnce) });
    expect(heldMs, "milliseconds that the event loop was held").to.be.below(3_000);
  });

  it("an oversized address field or body is cut at a whole address or line, and that is noted", async () => {
    const { headers } = await readAll(headerMail(":"), "a");
    expect(headers.cut).to.deep.equal(["from", "reply-to", "to", "cc"]);
    const { headers: many, parsed } = await readAll(headerMail("ann@customer.example,"), "a");
    expect(many.to).to.deep.equal(["ann@customer.example"]);
    expect(many.cut).to.deep.equal(["from", "reply-to", "to", "cc"]);
    expect(parsed).to.deep.include({ bodyText: "x\n", unreadable: null, cut: null });
    const { parsed: lines } = await readAll(emptyLines(), "a");
    expect(lines).to.deep.include({ unreadable: null, cut: "only its first 100000 lines were read" });
  });

  it("one mail for several recipients is parsed once", async () => {
    const parser = createMailParser(pool);
    const raw = fixture("newsletter");
    const before = pool.counts().begun;
    const read = await Promise.all(["a", "b", "c"].map((turn) => parser.parse(raw, { turn, sha256: hash(raw) })));
    await parser.parse(raw, { turn: "d", sha256: hash(raw) });
    expect(pool.counts().begun - before).to.equal(1);
    expect(new Set(read.map(({ bodyText }) => bodyText)).size).to.equal(1);
  });
});
