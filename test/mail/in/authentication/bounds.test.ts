import { expect } from "chai";
import { createMailAuthenticator } from "#src/mail/in/authentication/authenticator.ts";
import { dmarcTree } from "#src/mail/in/authentication/dmarc.ts";
import { dnsCircuitBreaker } from "#src/mail/in/authentication/dnsCircuitBreaker.ts";
import { fewSignatures } from "#src/mail/in/authentication/signatureLimits.ts";
import { signersOf, signersOrFindings, verifySignatures } from "#src/mail/in/authentication/verifyMail.ts";
import { verifySender } from "#src/mail/in/authentication/verifySender.ts";
import type { Lookup, Resolver } from "#src/platform/dns/resolver.ts";
import { eachOf } from "#src/platform/dns/resolver.ts";
import { mail } from "../mails.ts";

const asking = (lookUp: (name: string) => Promise<Lookup<never>>): Resolver =>
  eachOf({} as never, () => lookUp as never);

describe("DNS that does not answer during authentication", () => {
  const silence = { outcome: "temporary_failure", reason: "no answer" } as const;

  function zones() {
    let now = 0;
    const asked: string[] = [];
    let answer: () => Lookup<never> = () => {
      now += 4_000;
      return silence;
    };
    const resolver = asking(async (name) => {
      asked.push(name);
      return answer();
    });
    return {
      resolver: dnsCircuitBreaker(resolver, { monotonic: () => now }),
      asked,
      pass: (ms: number) => (now += ms),
      answers: (found: () => Lookup<never>) => (answer = found),
    };
  }

  it("a zone that failed slowly three times in a row is not asked again for a minute", async () => {
    const { resolver, asked, pass, answers } = zones();
    for (const name of ["dead.example", "_dmarc.dead.example", "s._domainkey.mail.dead.example"])
      await resolver.txt(name);
    expect(asked).to.have.length(3);
    expect(await resolver.mx("other.dead.example")).to.include({ outcome: "temporary_failure" });
    expect(asked, "nobody was asked").to.have.length(3);
    answers(() => ({ outcome: "missing" }));
    expect(await resolver.txt("living.example"), "another zone").to.deep.equal({ outcome: "missing" });
    pass(60_000);
    expect(await resolver.txt("dead.example"), "a minute later").to.deep.equal({ outcome: "missing" });
  });

  it("a zone is still asked after fewer than three failures in a row, or after failures without delay", async () => {
    const { resolver, asked, answers, pass } = zones();
    const slowly = () => {
      pass(4_000);
      return silence;
    };
    for (const found of [slowly, slowly, () => ({ outcome: "missing" }) as const, slowly, slowly]) {
      answers(found);
      await resolver.txt("flaky.example");
    }
    answers(() => silence);
    for (let n = 0; n < 5; n++) await resolver.txt("failing.example");
    answers(() => ({ outcome: "missing" }));
    expect(await resolver.txt("flaky.example")).to.deep.equal({ outcome: "missing" });
    expect(await resolver.txt("failing.example")).to.deep.equal({ outcome: "missing" });
    expect(asked).to.have.length(12);
  });

  it("authentication reads a mail's bytes again only if it has signatures, and checks no SPF for an unnamed client", async () => {
    const signature = "DKIM-Signature: v=1; a=rsa-sha256; d=silent.example; s=s; h=from; bh=x; b=x";
    for (const [fields, size, [fetches, jobs]] of [
      [[], 100, [1, ["signers"]]],
      [[], 100_000, [1, ["signers", "signatures"]]],
      [[signature], 100, [2, ["signers", "signatures"]]],
      [[signature], 100_000, [2, ["signers", "signatures"]]],
    ] as const) {
      const raw = mail(["From: a@silent.example", ...fields], "x\r\n".repeat(size / 3));
      let fetched = 0;
      const pool = atOnce();
      const clock = { monotonic: () => 0 };
      const authenticator = createMailAuthenticator({ resolver: asking(async () => silence), clock, pool });
      const withRaw = async <T>(work: (bytes: Buffer) => Promise<T>): Promise<T> => {
        fetched += 1;
        return work(raw);
      };
      const remote = { ip: "192.0.2.1", helo: "x.example", relay: true } as const;
      const received = { withRaw, envelopeFrom: "a@silent.example", remote, turn: "a" };
      const found = await authenticator.authenticate(received, { address: "a@silent.example", fromCount: 1 });
      expect(found).to.include({ spf: "none", dkim: fields.length > 0 ? "fail" : "none", arc: "none" });
      expect([fetched, pool.jobs]).to.deep.equal([fetches, jobs]);
    }
  });

  it("SPF is checked in one job and asks DNS for nothing twice, where one record decides", async () => {
    for (const [envelopeFrom, helo, [jobs, asks]] of [
      ["a@plain.example", "x.example", [1, 1]],
      ["a@Plain.Example", "x.example", [1, 1]],
      ["", "plain.example", [1, 1]],
      ["", "192.0.2.1", [1, 0]],
      ["a@pläin.example", "x.example", [1, 0]],
      ["a@onward.example", "x.example", [2, 2]],
    ] as const) {
      const asked: string[] = [];
      const resolver = asking(async (name) => {
        if (name.startsWith("_dmarc.") || name === "silent.example") return { outcome: "missing" };
        asked.push(name);
        const record = name === "onward.example" ? "v=spf1 include:plain.example -all" : "v=spf1 ip4:192.0.2.1 -all";
        return { outcome: "found", records: [record] as never[] };
      });
      const pool = atOnce();
      const authenticator = createMailAuthenticator({ resolver, clock: { monotonic: () => 0 }, pool });
      const raw = mail(["From: a@silent.example"]);
      const withRaw = async <T>(work: (bytes: Buffer) => Promise<T>): Promise<T> => work(raw);
      const received = { withRaw, envelopeFrom, remote: { ip: "192.0.2.1", helo }, turn: "a" };
      const found = await authenticator.authenticate(received, { address: "a@silent.example", fromCount: 1 });
      const threads = pool.jobs.filter((job) => job === "sender").length;
      const passes = found.spf === "pass";
      expect([passes, threads, asked.length], `${envelopeFrom} ${helo}`).to.deep.equal([asks > 0, jobs, asks]);
    }
  });

  it("a walk for DMARC asks at most eight names, each once, and stops at psd", async () => {
    const asked: string[] = [];
    const records: Record<string, string> = {};
    const resolver = asking(async (name) => {
      asked.push(name);
      const record = records[name.replace("_dmarc.", "")];
      return record === undefined ? { outcome: "missing" } : { outcome: "found", records: [record] as never[] };
    });
    const labels = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, n) => `l${from + n}`).join(".");
    const tree = dmarcTree(resolver);
    expect(await tree.policyOf(labels(1, 30))).to.deep.equal({ kind: "none" });
    expect(await tree.organizationOf(labels(1, 30))).to.equal(labels(1, 30));
    const above = [24, 25, 26, 27, 28, 29, 30].map((from) => `_dmarc.${labels(from, 30)}`);
    expect(asked).to.deep.equal([`_dmarc.${labels(1, 30)}`, ...above]);
    for (const [psd, organization] of [
      ["n", labels(26, 30)],
      ["y", labels(25, 30)],
    ] as const) {
      asked.length = 0;
      records[labels(26, 30)] = `v=DMARC1; p=none; psd=${psd}`;
      expect(await dmarcTree(resolver).organizationOf(labels(1, 30)), psd).to.equal(organization);
      expect(asked, psd).to.deep.equal([`_dmarc.${labels(1, 30)}`, ...above.slice(0, 3)]);
    }
  });

  it("no mail is kept in memory while DNS is asked for its key", async () => {
    let held = 0;
    let [asks, heldWhileAsking] = [0, 0];
    const raw = mail([
      "From: a@silent.example",
      "DKIM-Signature: v=1; a=rsa-sha256; d=silent.example; s=s; h=from; bh=x; b=x",
    ]);
    const resolver = asking(async (name) => {
      if (!name.includes("_domainkey")) return silence;
      asks += 1;
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      heldWhileAsking = Math.max(heldWhileAsking, held);
      return silence;
    });
    const pool = atOnce();
    const authenticator = createMailAuthenticator({ resolver, clock: { monotonic: () => 0 }, pool });
    const withRaw = async <T>(work: (bytes: Buffer) => Promise<T>): Promise<T> => {
      held += 1;
      return work(raw).finally(() => (held -= 1));
    };
    const remote = { ip: "192.0.2.1", helo: "x.example" };
    const from = { address: "a@silent.example", fromCount: 1 };
    const found = await authenticator.authenticate(
      { withRaw, envelopeFrom: "a@silent.example", remote, turn: "a" },
      from,
    );
    // The body hash is wrong, so DKIM fails without the key.
    expect(found).to.include({ spf: "temperror", dkim: "fail", dmarc: "temperror", aligned: false });
    expect([asks, heldWhileAsking]).to.deep.equal([1, 0]);
  });
});

/** A thread pool that runs its jobs at once in this thread. `jobs`: the names of the jobs. */
function atOnce() {
  const jobs: string[] = [];
  return {
    jobs,
    async run(job: any): Promise<any> {
      jobs.push(job.name);
      if (job.name === "signers") return job.isWhole ? signersOrFindings(job.bytes) : signersOf(job.bytes);
      return job.name === "sender" ? verifySender(job.sender, job.answers) : verifySignatures(job.bytes, job.answers);
    },
  };
}

describe("the signatures that are verified", () => {
  const signature = (n: number) => `DKIM-Signature: v=1; d=x${n}.example; s=s; b=x`;
  const names = (raw: Buffer) => signersOf(raw).asks;

  it("only the five lowest signatures are verified, and the rest of the mail stays unchanged", () => {
    const raw = mail([...[1, 2, 3, 4, 5, 6, 7].map(signature), "From: a@x.example"], signature(8));
    expect(names(raw)).to.deep.equal([3, 4, 5, 6, 7].map((n) => `TXT s._domainkey.x${n}.example`));
    const few = fewSignatures(raw);
    expect(few.length).to.equal(raw.length);
    expect(few.toString().replaceAll("xKIM", "DKIM")).to.equal(raw.toString());
    expect(few.toString().match(/xKIM/g), "two, and none in the body").to.have.length(2);
  });

  it("a signature whose name is folded before its colon counts as one of the five", () => {
    const folded = [1, 2, 3, 4, 5, 6].map((n) => signature(n).replace(":", "\r\n :"));
    expect(
      fewSignatures(mail([...folded, "From: a@x.example"]))
        .toString()
        .match(/xKIM/g),
    ).to.have.length(1);
  });

  it("a mail with at most five signatures is not copied", () => {
    const raw = mail([...[1, 2, 3, 4, 5].map(signature), "From: a@x.example"]);
    expect(fewSignatures(raw)).to.equal(raw);
  });

  it("no signature is verified in an oversized or malformed header", () => {
    for (const header of [
      [signature(1), `From: ${"a@x.example, ".repeat(2_000)}`],
      [signature(1), ...Array.from({ length: 5_000 }, () => "X-A: b")],
      [` ${signature(1)}`],
    ])
      expect(signersOf(mail(header))).to.deep.equal({ overloaded: true, asks: [] });
  });
});
