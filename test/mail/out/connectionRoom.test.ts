import { expect } from "chai";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { CredentialsRefused, NoRoom, ProviderBusy } from "#src/mail/mailProvider.ts";
import {
  createConnectionRoom,
  type OpenedConnection,
  type RelayConnectionLimits,
} from "#src/mail/out/connectionRoom.ts";

/** A relay that answers on the test's command, and a clock that the test moves. */
function world(limits: Partial<RelayConnectionLimits> = {}) {
  let now = 0;
  const opened: { succeed(): void; fail(error?: Error): void; close(): void }[] = [];
  let most = 0;
  let open = 0;
  const room = createConnectionRoom(
    { connections: 2, slowAfterMs: 20, patienceMs: 60_000, offerMoreAfterMs: 1_000, busyForMs: 5_000, ...limits },
    () => now,
  );
  function begin(): Promise<OpenedConnection<number>> {
    const place = opened.length;
    most = Math.max(most, ++open);
    return new Promise((resolve, reject) => {
      const ended = new Promise<void>((closed) => {
        opened.push({
          succeed: () => resolve({ connection: place, closed: ended }),
          fail(error = new Unavailable("no")) {
            open -= 1;
            reject(error);
          },
          close() {
            open -= 1;
            closed();
          },
        });
      });
    });
  }
  /** Asks for a connection and returns its number, or the error. */
  const take = (comesBack = true) => room.take(begin, { comesBack }).catch((error: Error) => error);
  /** Makes this many connections fail, one after the other. */
  async function failTimes(times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      const taking = take();
      opened.at(-1)!.fail();
      expect(await taking)
        .to.be.instanceOf(Unavailable)
        .and.not.instanceOf(NoRoom);
    }
  }
  return {
    room,
    opened,
    take,
    failTimes,
    most: () => most,
    pass(ms: number) {
      now += ms;
    },
  };
}

/** Waits until all promises that need no time are settled. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("the limit of connections to a relay", () => {
  it("connections to a relay open in the order of asking, and the next when one has closed", async () => {
    const { take, opened, most } = world();
    const all = [take(), take(), take(), take()];
    expect(opened).to.have.length(2);
    opened[0]!.succeed();
    opened[1]!.succeed();
    expect(await Promise.all(all.slice(0, 2))).to.deep.equal([0, 1]);
    expect(opened).to.have.length(2);
    opened[1]!.close();
    await settled();
    expect(opened).to.have.length(3);
    opened[2]!.succeed();
    expect(await all[2]).to.equal(2);
    opened[0]!.close();
    await settled();
    opened[3]!.succeed();
    expect([await all[3], most()]).to.deep.equal([3, 2]);
  });

  it("callers who retry are refused with NoRoom when they wait too long, and only as many as may be open wait on", async () => {
    const { take, opened, pass } = world();
    const [open1, open2, ...waiting] = Array.from({ length: 6 }, () => take());
    opened[0]!.succeed();
    opened[1]!.succeed();
    await Promise.all([open1, open2]);
    pass(21);
    const late = take();
    expect(await late)
      .to.be.instanceOf(NoRoom)
      .and.include({ away: false });
    expect(await Promise.all(waiting.slice(2))).to.satisfy((all: unknown[]) => all.every((e) => e instanceof NoRoom));
    opened[0]!.close();
    opened[1]!.close();
    await settled();
    opened[2]!.succeed();
    opened[3]!.succeed();
    expect(await Promise.all(waiting.slice(0, 2))).to.deep.equal([2, 3]);
  });

  it("callers who do not retry wait for a connection up to their patience", async () => {
    const { take, opened, pass } = world({ connections: 1, patienceMs: 60 });
    const first = take();
    opened[0]!.succeed();
    await first;
    const [notice, second, patient] = [take(false), take(), take(false)];
    pass(1_000);
    expect(await second).to.be.instanceOf(NoRoom);
    expect(await Promise.all([notice, patient])).to.satisfy((all: unknown[]) => all.every((e) => e instanceof NoRoom));
    opened[0]!.close();
    await settled();
    expect(opened).to.have.length(1);
  });

  it("a relay is offered no more connections than it accepts, and one more after a while", async () => {
    const { take, opened, pass, most } = world({ connections: 4 });
    const all = [take(), take(), take(), take()];
    opened[2]!.fail();
    opened[3]!.fail(new Unavailable("421 too many"));
    await settled();
    opened[0]!.succeed();
    opened[1]!.succeed();
    await Promise.all(all.slice(0, 2));
    await settled();
    expect(opened).to.have.length(4);
    for (const place of [0, 1]) {
      opened[place]!.close();
      await settled();
      opened[4 + place]!.succeed();
      expect(await all[2 + place]).to.equal(4 + place);
    }
    const more = [take(), take()];
    expect(opened).to.have.length(6);
    pass(1_000);
    opened[4]!.close();
    await settled();
    expect(opened).to.have.length(8);
    opened[6]!.succeed();
    opened[7]!.succeed();
    expect(await Promise.all(more)).to.deep.equal([6, 7]);
    expect(most()).to.equal(4);
  });

  it("all callers fail if the relay accepts none of their connections", async () => {
    const { take, opened } = world({ connections: 3 });
    const all = [take(), take(), take()];
    for (const each of opened) each.fail();
    for (const each of await Promise.all(all)) expect(each).to.be.instanceOf(Unavailable).and.not.instanceOf(NoRoom);
  });

  it("after three failures in a row one caller tries a connection, and the others wait for its success", async () => {
    const { take, opened, failTimes, most } = world({ connections: 3 });
    await failTimes(3);
    const all = [take(), take(), take()];
    expect(opened).to.have.length(4);
    opened[3]!.fail();
    expect(await all[0])
      .to.be.instanceOf(Unavailable)
      .and.not.instanceOf(NoRoom);
    await settled();
    expect(opened).to.have.length(5);
    opened[4]!.succeed();
    expect(await all[1]).to.equal(4);
    const others = [take(), take()];
    await settled();
    expect(opened).to.have.length(7);
    opened[5]!.succeed();
    opened[6]!.succeed();
    expect(await all[2]).to.equal(5);
    expect(await others[0]).to.equal(6);
    opened[4]!.close();
    await settled();
    opened[7]!.succeed();
    expect([await others[1], most()]).to.deep.equal([7, 3]);
  });

  it("only failures in a row count, and refused credentials count as one", async () => {
    const { take, opened, failTimes, pass } = world({ connections: 3 });
    await failTimes(2);
    const good = take();
    opened[2]!.succeed();
    await good;
    opened[2]!.close();
    await settled();
    await failTimes(2);
    const refused = take();
    opened.at(-1)!.fail(new CredentialsRefused("535"));
    expect(await refused).to.be.instanceOf(CredentialsRefused);
    const [, second] = [take(), take(), take()];
    expect(opened).to.have.length(7);
    pass(21);
    const away = await take();
    expect(away).to.be.instanceOf(NoRoom).and.include({ away: true });
    expect((away as NoRoom).lastFailure).to.be.instanceOf(CredentialsRefused);
    opened[6]!.succeed();
    await settled();
    opened[7]!.succeed();
    expect(await second).to.equal(7);
  });

  it("closing refuses all waiting and later callers with NoRoom and opens no further connection", async () => {
    const { take, opened, room } = world();
    const [open, failing, ...waiting] = [take(), take(), take(), take(false)];
    opened[0]!.succeed();
    await open;
    room.close();
    expect(await Promise.all([...waiting, take(), take(false)])).to.satisfy((all: unknown[]) =>
      all.every((e) => e instanceof NoRoom && !e.away),
    );
    opened[0]!.close();
    opened[1]!.fail();
    expect(await failing).to.be.instanceOf(NoRoom);
    await settled();
    expect(opened).to.have.length(2);
  });

  it("a busy relay is asked by one caller at a time with pauses, and no caller fails", async () => {
    const { take, opened, pass } = world({ connections: 3 });
    const all = [take(), take(), take(), take(), take()];
    for (const each of [...opened]) each.fail(new ProviderBusy("421"));
    for (const each of await Promise.all([...all.slice(0, 3), all[4], take()]))
      expect(each).to.be.instanceOf(NoRoom).and.include({ away: false });
    await settled();
    expect(opened).to.have.length(3);
    const patient = take(false);
    pass(20);
    const probe = await take();
    expect(probe).to.be.instanceOf(NoRoom);
    while (opened.length < 4) await settled();
    opened[3]!.fail(new ProviderBusy("421"));
    expect(await all[3])
      .to.be.instanceOf(NoRoom)
      .and.include({ away: false });
    await settled();
    expect(opened).to.have.length(4);
    pass(20);
    while (opened.length < 5) await settled();
    opened[4]!.succeed();
    expect(await patient).to.equal(4);
    const others = [take(), take()];
    opened[5]!.succeed();
    opened[6]!.succeed();
    expect(await Promise.all(others)).to.deep.equal([5, 6]);
  });

  it("callers refused with NoRoom are called back in the order of asking, as many as have room", async () => {
    const { take, opened, room, pass } = world({ slowAfterMs: 30_000 });
    const [open1, open2, , waiting] = [take(), take(), take(), take()];
    opened[0]!.succeed();
    opened[1]!.succeed();
    await Promise.all([open1, open2]);
    pass(30_001);
    const called: string[] = [];
    const comeBack = (name: string) => void room.whenRoom(name).then(() => called.push(name));
    for (const name of ["a", "b", "c", "d"]) comeBack(name);
    comeBack("a");
    await settled();
    expect(called).to.deep.equal([]);
    opened[0]!.close();
    await settled();
    expect(called).to.deep.equal(["a"]);
    opened[1]!.close();
    await settled();
    expect(called).to.deep.equal(["a", "b"]);
    opened[2]!.succeed();
    opened[3]!.succeed();
    await waiting;
    room.close();
    opened[2]!.close();
    opened[3]!.close();
    await settled();
    expect(called).to.deep.equal(["a", "b"]);
  });

  it("one caller at a time is called back for a relay that is away, and the others when it answers", async () => {
    const { take, failTimes, opened, room } = world({ connections: 3 });
    await failTimes(3);
    const called: number[] = [];
    for (let n = 0; n < 20; n++) void room.whenRoom(`${n}`).then(() => called.push(n));
    await settled();
    expect(called).to.deep.equal([]);
    while (called.length < 1) await settled();
    expect(called).to.deep.equal([0]);
    const probe = take();
    await new Promise((resolve) => setTimeout(resolve, 25));
    expect(called).to.deep.equal([0]);
    opened.at(-1)!.succeed();
    await probe;
    expect(called).to.deep.equal([0, 1, 2, 3, 4, 5]);
  });

  it("a relay that stays busy for 5 seconds counts as away", async () => {
    const { take, opened, pass } = world();
    for (const [n, away] of [false, false, true, true].entries()) {
      const taking = take();
      while (opened.length <= n) await settled();
      opened[n]!.fail(new ProviderBusy("421"));
      expect(await taking, `${n}`)
        .to.be.instanceOf(NoRoom)
        .and.include({ away });
      pass(2_500);
    }
    const taking = take();
    opened[4]!.succeed();
    await taking;
    opened[4]!.close();
    await settled();
    const fresh = take();
    opened[5]!.fail(new ProviderBusy("421"));
    expect(await fresh)
      .to.be.instanceOf(NoRoom)
      .and.include({ away: false });
  });
});
