import { expect } from "chai";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { CredentialsRefused, type MailProvider, type ReadyConnection } from "#src/mail/mailProvider.ts";
import { watchCredentials } from "#src/mail/watchCredentials.ts";

describe("watchCredentials", () => {
  let answer: Error | undefined;
  let tries: number;
  let discarded: number;
  let now: number;
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
    const watched = watchCredentials(provider, { monotonic: () => now });
    answer = new CredentialsRefused("535 no");
    await watched.connect().catch(() => {});
    return watched;
  };
  beforeEach(() => {
    [answer, tries, discarded, now] = [undefined, 0, 0, 0];
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
});
