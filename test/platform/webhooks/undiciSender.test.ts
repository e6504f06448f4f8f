import { createHmac } from "node:crypto";
import { expect } from "chai";
import { createNodeResolver } from "#src/platform/dns/nodeResolver.ts";
import type { Lookup, Resolver } from "#src/platform/dns/resolver.ts";
import { type ConnectLookup, publicLookup } from "#src/platform/publicWeb/publicLookup.ts";
import type { WebhookPost } from "#src/platform/webhooks/sender.ts";
import { createUndiciSender, type SenderOptions } from "#src/platform/webhooks/undiciSender.ts";
import { certificateOf } from "#test/support/certificate.ts";
import { startDnsServer } from "#test/support/dnsServer.ts";
import { startReceiver, verified } from "#test/support/webhookReceiver.ts";

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const older = `whsec_${Buffer.alloc(24, 2).toString("base64")}`;
const never = new AbortController().signal;

const post = (more: Partial<WebhookPost> & { url: string }): WebhookPost => ({
  id: "0199aaaa-0000-7000-8000-000000000001",
  body: '{"type":"draft.stale","emoji":"é"}',
  secrets: [secret],
  at: new Date(),
  ...more,
});

type Addresses = Pick<Resolver, "a" | "aaaa"> & { asked: string[] };

/** DNS that answers differently each time; the last answer is repeated. */
function answering(...answers: string[][]): Addresses {
  const asked: string[] = [];
  const of = (family: number, addresses: string[]): Lookup<string> => {
    const records = addresses.filter((address) => address.includes(":") === (family === 6));
    return records.length === 0 ? { outcome: "missing" } : { outcome: "found", records };
  };
  let now: string[] = [];
  return {
    asked,
    // The sender queries both kinds concurrently, and this kind first.
    async a(name) {
      now = answers[Math.min(asked.length, answers.length - 1)]!;
      asked.push(name);
      return of(4, now);
    },
    aaaa: async () => of(6, now),
  };
}

const local: ConnectLookup = (_, { all }, found) =>
  all ? found(null, [{ address: "127.0.0.1", family: 4 }]) : found(null, "127.0.0.1", 4);

describe("webhooks on the wire [d11 webhooks]", () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  const sender = (options: Partial<SenderOptions> = {}) => {
    const made = createUndiciSender({
      allowedHosts: ["127.0.0.1", "receiver.test"],
      resolver: answering([]),
      timeoutMs: 5_000,
      lookup: local,
      ...options,
    });
    closers.push(made.close);
    return made;
  };
  const receiver = async (...given: Parameters<typeof startReceiver>) => {
    const started = await startReceiver(...given);
    closers.push(started.stop);
    return started;
  };

  it("webhooks are signed as Standard Webhooks requires, by every valid secret [d11 signatures]", async () => {
    const { url, requests } = await receiver();
    const sent = post({ url, secrets: [secret, older] });
    expect(await sender().post(sent, never)).to.deep.equal({ status: 204, error: null, body: "" });
    const [received] = requests as [(typeof requests)[0]];
    expect(received.text).to.equal(sent.body);
    for (const each of [secret, older]) expect(verified(received, each)).to.deep.equal(JSON.parse(sent.body));
    expect(() => verified(received, `whsec_${Buffer.alloc(32, 3).toString("base64")}`)).to.throw();
    const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signatures } = received.headers;
    const signed = (key: string) =>
      createHmac("sha256", Buffer.from(key.slice(6), "base64"))
        .update(`${id}.${at}.${sent.body}`)
        .digest("base64");
    expect(signatures).to.equal(`v1,${signed(secret)} v1,${signed(older)}`);
    expect(received.headers["content-type"]).to.equal("application/json");
  });

  it("a redirect of a webhook counts as a failure and is not followed", async () => {
    const target = await receiver();
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await receiver(
        () => (response) => void response.writeHead(status, { location: target.url }).end(),
      );
      const answer = await sender().post(post({ url }), never);
      expect(answer.status).to.equal(status);
      expect(answer.error).to.match(/redirect/);
    }
    expect(target.requests).to.have.length(0);
  });

  it("a webhook gives up on a receiver that does not answer in time, or trickles its headers", async () => {
    const silent = await receiver(() => () => undefined);
    const answer = await sender({ timeoutMs: 300 }).post(post({ url: silent.url }), never);
    expect(answer).to.deep.equal({ status: null, error: "no answer within 0.3 s", body: null });
    const slow = await receiver(() => (response) => {
      response.socket!.write("HTTP/1.1 200 OK\r\n");
      const trickle = setInterval(() => response.socket?.write("X-A: b\r\n"), 50);
      response.once("close", () => clearInterval(trickle));
    });
    const late = await sender({ timeoutMs: 300 }).post(post({ url: slow.url }), never);
    expect(late).to.deep.equal({ status: null, error: "no answer within 0.3 s", body: null });
  });

  it("a webhook's status counts, however long the body that follows it", async () => {
    let written = 0;
    const endless = await receiver(() => async (response) => {
      response.writeHead(200).setMaxListeners(0);
      const chunk = Buffer.alloc(64 * 1024);
      while (!response.destroyed && written < 256 * 1024 * 1024) {
        written += chunk.length;
        if (!response.write(chunk))
          await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
      }
    });
    expect(await sender().post(post({ url: endless.url }), never)).to.include({ status: 200, error: null });
    expect(written).to.be.lessThan(32 * 1024 * 1024);
    const stalled = await receiver(() => (response) => void response.writeHead(200).write("so"));
    const answer = await sender({ timeoutMs: 1_000 }).post(post({ url: stalled.url }), never);
    expect(answer).to.deep.equal({ status: 200, error: null, body: "so" });
  });

  const answers: [what: string, sent: Buffer | string, shown: string][] = [
    ["a JSON error", '{"error":"unknown order"}', '{"error":"unknown order"}'],
    ["a page in Latin-1", Buffer.from("Erreur: é", "latin1"), "Erreur: \ufffd"],
    ["a NUL, which PostgreSQL cannot store", "a\0b", "a\ufffdb"],
    ["2 KB and a letter of two bytes at the end", `${"a".repeat(2_047)}é!`, "a".repeat(2_047)],
    ["2 KB and a family at the end", `${"a".repeat(2_040)}👨‍👩‍👧‍👦!`, "a".repeat(2_040)],
    ["2 KB and a letter with its accent apart", `${"a".repeat(2_047)}e\u0301`, "a".repeat(2_047)],
  ];
  for (const [what, sent, shown] of answers) {
    it(`the beginning of a receiver's answer is kept: ${what}`, async () => {
      const { url } = await receiver(() => (response) => void response.writeHead(422).end(sent));
      expect(await sender().post(post({ url }), never)).to.include({ status: 422, body: shown });
    });
  }

  it("the beginning of a receiver's answer is kept also if the answer breaks off", async () => {
    const { url } = await receiver(() => (response) => {
      response.writeHead(500, { "content-length": "100" }).write("boom");
      setImmediate(() => response.destroy());
    });
    expect(await sender().post(post({ url }), never)).to.include({ status: 500, error: "the receiver answered 500" });
  });

  it("a webhook reports what was wrong with a connection, and can be aborted", async () => {
    const gone = await startReceiver();
    await gone.stop();
    const refused = await sender().post(post({ url: gone.url }), never);
    expect(refused.status).to.equal(null);
    expect(refused.error).to.match(/ECONNREFUSED/);
    const silent = await receiver(() => () => cut.abort());
    const cut = new AbortController();
    expect((await sender().post(post({ url: silent.url }), cut.signal)).status).to.equal(null);
  });

  it("a webhook is sent to https receivers with a valid certificate, and to no other", async () => {
    const pair = certificateOf("receiver.test");
    const { port, requests } = await receiver(() => 200, pair);
    const url = `https://receiver.test:${port}/`;
    const untrusted = await sender().post(post({ url }), never);
    expect([untrusted.status, requests.length]).to.deep.equal([null, 0]);
    expect(untrusted.error).to.match(/certificate/i);
    expect(await sender({ ca: pair.cert }).post(post({ url }), never)).to.include({ status: 200 });
    // The certificate must be for the requested name, not for just any name.
    const other = sender({ ca: pair.cert, allowedHosts: ["other.test"] });
    expect((await other.post(post({ url: `https://other.test:${port}/` }), never)).status).to.equal(null);
  });

  it("a webhook never reaches a private address by a name, whatever it answered before [d11 private addresses]", async () => {
    const { port, requests } = await receiver();
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "fd00::1"]) {
      const resolver = answering([address]);
      const answer = await sender({ resolver }).post(post({ url: `https://rebind.test:${port}/` }), never);
      expect(answer.status, address).to.equal(null);
      expect(answer.error, address).to.match(/not public/);
      expect(resolver.asked, address).to.deep.equal(["rebind.test"]);
    }
    // A name with a private address is refused, even if its other addresses are public.
    for (const mixed of [
      ["1.2.3.4", "127.0.0.1"],
      ["2606:4700::1", "127.0.0.1"],
      ["1.2.3.4", "::1"],
    ]) {
      const both = await sender({ resolver: answering(mixed) }).post(
        post({ url: `https://rebind.test:${port}/` }),
        never,
      );
      expect(both.error, mixed.join()).to.match(/not public/);
    }
    expect(requests).to.have.length(0);
  });

  it("a webhook connects to the address that was checked, also if the next DNS answer differs [d11 private addresses]", async () => {
    const { port, requests } = await receiver();
    const dns = await startDnsServer();
    closers.push(async () => dns.close());
    const resolver = createNodeResolver({ servers: [dns.address] });
    const asked = () => dns.asked.filter(({ type }) => type === "A").length;
    dns.a("rebind.test", "1.2.3.4");
    // The connection uses the address that was checked, without another look-up.
    const first = await new Promise((resolve) => {
      publicLookup(resolver)("rebind.test", { all: true }, (_, found) => resolve(found));
    });
    expect([first, asked()]).to.deep.equal([[{ address: "1.2.3.4", family: 4 }], 1]);
    dns.a("rebind.test", "127.0.0.1");
    const then = await sender({ resolver }).post(post({ url: `https://rebind.test:${port}/` }), never);
    expect(then.error).to.match(/not public/);
    expect([asked(), requests.length]).to.deep.equal([2, 0]);
  });

  it("a webhook reports a name that is missing or cannot be looked up", async () => {
    const missing = await sender().post(post({ url: "https://nobody.test/" }), never);
    expect(missing).to.deep.equal({ status: null, error: "the host's name has no address", body: null });
    const away = { outcome: "temporary_failure", reason: "SERVFAIL" } as const;
    const resolver = { a: async () => away, aaaa: async () => away };
    expect((await sender({ resolver }).post(post({ url: "https://nobody.test/" }), never)).error).to.match(/SERVFAIL/);
  });

  it("a webhook's name is looked up again for every delivery, without a kept connection", async () => {
    const { port, requests } = await receiver();
    let asked = 0;
    const lookup: ConnectLookup = (...call) => {
      asked += 1;
      local(...call);
    };
    const one = sender({ lookup });
    for (let times = 0; times < 3; times++) await one.post(post({ url: `http://receiver.test:${port}/` }), never);
    expect([requests.length, asked]).to.deep.equal([3, 3]);
  });

  it("a webhook to a private address literal is refused [d11 private addresses]", async () => {
    const { port, requests } = await receiver();
    const resolver = answering(["127.0.0.1"]);
    const strict = sender({ allowedHosts: [], resolver });
    for (const host of ["127.0.0.1", "0x7f.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0"]) {
      const answer = await strict.post(post({ url: `https://${host}:${port}/` }), never);
      expect(answer, host).to.deep.equal({
        status: null,
        error: "the URL is not https, or its host is not on the public internet",
        body: null,
      });
    }
    expect((await strict.post(post({ url: `http://receiver.test:${port}/` }), never)).status).to.equal(null);
    expect([resolver.asked.length, requests.length]).to.deep.equal([0, 0]);
  });

  it("a webhook uses no proxy of the environment", async () => {
    const proxy = await receiver();
    const { url, requests } = await receiver();
    const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"];
    const before = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = proxy.url;
    try {
      expect(await sender().post(post({ url }), never)).to.include({ status: 204 });
    } finally {
      names.forEach((name, index) => {
        if (before[index] === undefined) delete process.env[name];
        else process.env[name] = before[index];
      });
    }
    expect([proxy.requests.length, requests.length]).to.deep.equal([0, 1]);
  });
});
