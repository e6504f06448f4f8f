import { expect } from "chai";
import type { Logger } from "pino";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import {
  CredentialsRefused,
  type MailProvider,
  NoRoom,
  NotConnected,
  ProviderBusy,
  type ReadyConnection,
} from "#src/mail/mailProvider.ts";
import { watchProvider } from "#src/mail/watchProvider.ts";

describe("watchProvider", () => {
  let answer: Error | undefined;
  let tries: number;
  let discarded: number;
  let now: number;
  let lines: string[];
  const log = {
    warn: ({ because }: { because: string }, message: string) => void lines.push(`${message}: ${because}`),
    info: (message: string) => void lines.push(message),
  } as Pick<Logger, "warn" | "info">;
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const connection: ReadyConnection = {
    handOver: async () => ({ kind: "accepted", response: "250 ok" }),
    discard: () => {
      discarded += 1;
    },
  };
  const provider: MailProvider = {
    name: "smtp",
    async connect() {
      tries += 1;
      if (answer) throw answer;
      return connection;
    },
    close: async () => {},
  };
  const refused = async () => {
    const watched = watchProvider(provider, { monotonic: () => now, log });
    answer = new CredentialsRefused("535 no");
    await watched.connect().catch(() => {});
    return watched;
  };
  beforeEach(() => {
    [answer, tries, discarded, now] = [undefined, 0, 0, 0];
    lines = [];
  });

  it("refused credentials are reported until a connection is accepted", async () => {
    const watched = await refused();
    expect(watched.trouble()).to.equal("535 no");
    answer = undefined;
    await watched.connect();
    expect(watched.trouble()).to.equal(undefined);
  });

  it("a relay that is away changes nothing about refused credentials", async () => {
    const watched = await refused();
    answer = new Unavailable("away");
    await watched.connect().catch(() => {});
    expect(watched.trouble()).to.equal("535 no");
  });

  it("refused credentials are tried again at most once a minute", async () => {
    const watched = await refused();
    watched.trouble();
    expect(tries).to.equal(1);
    now = 60_000;
    watched.trouble();
    watched.trouble();
    await settled();
    expect(tries).to.equal(2);
    answer = undefined;
    now = 120_000;
    watched.trouble();
    await settled();
    expect(discarded).to.equal(1);
    expect(watched.trouble()).to.equal(undefined);
  });

  const untrusted = new NotConnected("its certificate is not trusted", { kind: "untrusted", lasts: true });
  const away = (words = "") => new NotConnected(`nothing listens${words}`, { kind: "away", lasts: false });
  const cannot = "the mail provider cannot be used, retrying";
  const can = "the mail provider can be used again";

  /** Connects with each of these results, in order. */
  async function connecting(...results: (Error | undefined)[]) {
    const watched = watchProvider(provider, { monotonic: () => now, log });
    for (const result of results) {
      answer = result;
      await watched.connect().catch(() => {});
    }
    return watched;
  }

  it("a reason that only the operator can end makes the provider not ready; one that may pass is only named", async () => {
    expect((await connecting(untrusted)).trouble()).to.equal("its certificate is not trusted");
    expect((await connecting(away())).trouble()).to.deep.equal({ ready: "nothing listens" });
    expect((await connecting(new Unavailable("gone"))).trouble()).to.deep.equal({ ready: "gone" });
    expect((await connecting(away(), untrusted)).trouble()).to.equal("its certificate is not trusted");
    for (const error of [untrusted, away()]) expect((await connecting(error, undefined)).trouble()).to.equal(undefined);
  });

  it("each reason why the provider cannot be used is logged once until it changes, and its end once", async () => {
    await connecting(
      undefined,
      away(),
      away(" (try 2)"),
      untrusted,
      untrusted,
      away(),
      undefined,
      undefined,
      untrusted,
    );
    expect(lines).to.deep.equal([
      `${cannot}: nothing listens`,
      `${cannot}: its certificate is not trusted`,
      `${cannot}: nothing listens`,
      can,
      `${cannot}: its certificate is not trusted`,
    ]);
  });

  it("the words of a busy provider are logged once, however they change", async () => {
    const full = (words: string) =>
      new NoRoom("the relay is unreachable and being retried", { away: true, lastFailure: new ProviderBusy(words) });
    const watched = await connecting(full("421 busy a1"), full("421 busy b2"));
    expect(lines).to.deep.equal([`${cannot}: 421 busy a1`]);
    expect(watched.trouble()).to.deep.equal({ ready: "421 busy b2" });
  });

  it("a caller that finds no room at a provider that works changes nothing", async () => {
    const watched = await connecting(new NoRoom("all connections are taken", { away: false }));
    expect([watched.trouble(), lines]).to.deep.equal([undefined, []]);
    const still = await connecting(away(), new NoRoom("being retried", { away: true }));
    expect(still.trouble()).to.deep.equal({ ready: "nothing listens" });
  });

  it("a provider that was away is tried again at most once a minute while somebody asks for it", async () => {
    const watched = await connecting(away());
    answer = undefined;
    watched.trouble();
    expect(tries).to.equal(1);
    now = 60_000;
    expect(watched.trouble()).to.deep.equal({ ready: "nothing listens" });
    await settled();
    expect([watched.trouble(), discarded, lines.at(-1)]).to.deep.equal([undefined, 1, can]);
  });
});
