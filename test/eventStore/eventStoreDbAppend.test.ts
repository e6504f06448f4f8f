import { status } from "@grpc/grpc-js";
import { expect } from "chai";
import { type EventStore, noStream, StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { createEventStoreDbStore } from "#src/eventStore/eventStoreDb/store.ts";
import { StartError } from "#src/platform/startError.ts";
import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";
import { errorOf, idsOf, newEvent, newEvents, newStream, upTo } from "./contract/support.ts";

describe("EventStoreDB adapter: appends and reads in trouble", () => {
  let server: EventStoreDbStandIn;
  let store: EventStore;

  beforeEach(async () => {
    server = await new EventStoreDbStandIn().start();
    store = createEventStoreDbStore({ connectionString: server.url, timeoutMs: 2000 });
  });
  afterEach(async () => {
    await store.close();
    server.stop();
  });

  async function expectOnce(stream: string, events: { id: string }[]): Promise<void> {
    expect(idsOf(await store.read(stream))).to.deep.equal(idsOf(events));
  }

  for (const code of [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED, status.UNKNOWN, status.ABORTED]) {
    for (const written of [false, true]) {
      it(`EventStoreDB appends are tried again after ${status[code]}, ${written ? "written" : "not written"}`, async () => {
        const stream = newStream();
        const events = newEvents(3);
        server.calls.appendFaults.push({ written, code }, { written, code });
        expect((await store.append(stream, noStream, events)).revision).to.equal(2);
        expect(server.calls.appends).to.equal(3);
        await expectOnce(stream, events);
      });
    }
  }

  it("an EventStoreDB append that was written and never answered is tried again", async () => {
    const stream = newStream();
    await store.append(stream, noStream, newEvents(1));
    const before = await store.read(stream);
    const events = newEvents(2);
    server.calls.appendFaults.push({ written: true });
    const appended = await store.append(stream, 0, events);
    expect(server.calls.appends).to.equal(3);
    await expectOnce(stream, [...before, ...events]);
    expect((await store.readLast(stream))?.position).to.equal(appended.position);
  });

  it("a retried EventStoreDB append returns its first position though others appended before the retry", async () => {
    const stream = newStream();
    const events = newEvents(2);
    server.calls.appendFaults.push({ written: true });
    const pending = store.append(stream, noStream, events);
    while (server.calls.appends === 0) await new Promise(setImmediate);
    const other = newEvent();
    await store.append(stream, 1, [other]);
    expect((await pending).revision).to.equal(1);
    await expectOnce(stream, [...events, other]);
  });

  it("a retried EventStoreDB append that was not written fails with StreamMoved if another append was faster", async () => {
    const stream = newStream();
    server.calls.appendFaults.push({ written: false });
    const pending = store.append(stream, noStream, newEvents(1));
    while (server.calls.appends === 0) await new Promise(setImmediate);
    const other = newEvent();
    await store.append(stream, noStream, [other]);
    expect(await errorOf(pending))
      .to.be.instanceOf(StreamMoved)
      .and.to.include({ actualRevision: 0 });
    await expectOnce(stream, [other]);
  });

  it("an EventStoreDB append without an answer in time is Unavailable, and the same ids succeed later", async () => {
    const stream = newStream();
    const events = newEvents(2);
    server.calls.appendFaults.push({ written: true }, { written: false }, { written: false }, { written: false });
    expect(await errorOf(store.append(stream, noStream, events))).to.be.instanceOf(Unavailable);
    server.calls.appendFaults.length = 0;
    expect((await store.append(stream, noStream, events)).revision).to.equal(1);
    await expectOnce(stream, events);
  });

  it("EventStoreDB calls are Unavailable while the server is down, and succeed when it is back", async () => {
    const stream = newStream();
    await store.append(stream, noStream, newEvents(1));
    server.stop();
    const events = newEvents(1);
    const failed = [store.append(stream, 0, events), store.read(stream), store.readLast(stream), store.head()];
    for (const result of await Promise.allSettled(failed)) {
      expect(result.status === "rejected" && result.reason).to.be.instanceOf(Unavailable);
    }
    await server.start();
    expect((await store.append(stream, 0, events)).revision).to.equal(1);
  });

  it("EventStoreDB calls wait for a server that comes back in time", async () => {
    const patient = createEventStoreDbStore({ connectionString: server.url, timeoutMs: 60_000 });
    const stream = newStream();
    server.stop();
    const [appended] = await Promise.all([
      patient.append(stream, noStream, newEvents(1)),
      new Promise((resolve) => setTimeout(resolve, 300)).then(() => server.start()),
    ]);
    expect(appended.revision).to.equal(0);
    expect(await patient.read(stream)).to.have.length(1);
    await patient.close();
  });

  it("a hanging EventStoreDB call delays no other, and ends when the store is closed", async () => {
    const patient = createEventStoreDbStore({ connectionString: server.url, timeoutMs: 60_000 });
    server.calls.appendFaults.push({ written: true });
    const hanging = errorOf(patient.append(newStream(), noStream, newEvents(1)));
    while (server.calls.appends === 0) await new Promise(setImmediate);
    const others = await Promise.all(upTo(20).map(() => patient.append(newStream(), noStream, newEvents(1))));
    expect(others).to.have.length(20);
    server.calls.readsHang = true;
    const reading = errorOf(patient.head());
    await patient.close();
    expect(await hanging).to.be.instanceOf(Unavailable);
    expect(await reading).to.be.instanceOf(Unavailable);
    expect(server.calls.batchAppends).to.equal(0);
  });

  it("an EventStoreDB read without an answer is Unavailable, and succeeds later", async () => {
    const stream = newStream();
    await store.append(stream, noStream, newEvents(3));
    server.calls.readsHang = true;
    for (const result of await Promise.allSettled([store.read(stream), store.readLast(stream), store.head()])) {
      expect(result.status === "rejected" && result.reason).to.be.instanceOf(Unavailable);
    }
    server.calls.readsHang = false;
    expect(await store.read(stream)).to.have.length(3);
  });

  it("a retried EventStoreDB append finds its events though the guard has moved since", async () => {
    const [stream, guard] = [newStream(), newStream("guard")];
    const events = newEvents(2);
    const expected = { revision: noStream, unlessMoved: [{ stream: guard, revision: noStream }] };
    const first = await store.append(stream, expected, events);
    await store.append(guard, noStream, newEvents(1));
    expect(await store.append(stream, expected, events)).to.deep.equal(first);
    expect(await errorOf(store.append(stream, expected, newEvents(2)))).to.be.instanceOf(StreamMoved);
  });

  it("EventStoreDB writes the same ids again at the now current revision: the limit of retries", async () => {
    const stream = newStream();
    const events = newEvents(2);
    await store.append(stream, noStream, events);
    await store.append(stream, 1, events);
    await expectOnce(stream, [...events, ...events]);
  });

  it("an EventStoreDB stream that another application wrote into is not read", async () => {
    const stream = newStream();
    await store.append(stream, noStream, newEvents(1));
    server.writeForeign(1, stream);
    expect(String(await errorOf(store.read(stream)))).to.contain("did not write");
  });

  it("a closed EventStoreDB store is Unavailable", async () => {
    await store.close();
    expect(await errorOf(store.append(newStream(), noStream, newEvents(1)))).to.be.instanceOf(Unavailable);
    expect(await errorOf(store.head())).to.be.instanceOf(Unavailable);
  });
});

describe("EventStoreDB adapter: connection strings", () => {
  let server: EventStoreDbStandIn;
  before(async () => {
    server = await new EventStoreDbStandIn().start();
  });
  after(() => server.stop());

  const forms: Record<string, (url: string) => string> = {
    ...Object.fromEntries(
      ["kurrentdb", "kurrent", "kdb"].map((scheme) => [
        `${scheme}://`,
        (url: string) => url.replace("esdb:", `${scheme}:`),
      ]),
    ),
    "with credentials": (url) => url.replace("//", "//user:p%40ss@"),
    "several nodes, found by gossip": (url) => url.replace("//", "//127.0.0.1:1,"),
    ...Object.fromEntries(
      ["esdb", "kurrentdb", "kurrent", "kdb"].map((scheme) => [
        `${scheme}+discover://`,
        (url: string) => url.replace("esdb:", `${scheme}+discover:`),
      ]),
    ),
    "with options": (url) =>
      `${url}&nodePreference=leader&keep_alive_interval=10000&connectionName=mine&defaultDeadline=9000`,
    "with an option's name in capitals": (url) => url.replace("tls=", "TLS="),
  };
  for (const [name, form] of Object.entries(forms)) {
    it(`the EventStoreDB adapter accepts a connection string ${name}`, async () => {
      const store = createEventStoreDbStore({ connectionString: form(server.url) });
      expect((await store.append(newStream(), noStream, newEvents(1))).revision).to.equal(0);
      await store.close();
    });
  }

  for (const bad of ["", "http://user:secret@host:2113", "esdb://user:secret@host:port", "esdb://host:2113"]) {
    it(`the EventStoreDB adapter refuses ${bad.replace("secret", "…") || "an empty string"} without repeating a secret`, () => {
      let message = "";
      try {
        createEventStoreDbStore({ connectionString: bad });
      } catch (error) {
        message = `${(error as Error).stack} ${(error as Error).cause}`;
      }
      expect(message).to.contain("The event store's URL");
      expect(message).not.to.contain("secret");
    });
  }

  const faults: [url: string, says: RegExp][] = [
    ["esdb://[::1]:2113?tls=false", /IPv6 address.*host name/],
    ["kdb://user:secret@[2001:db8::1]:2113", /IPv6 address.*host name/],
    ["kurrent+discover://user:secret@one.example:2113,[::1]:2114?tls=true", /IPv6 address.*host name/],
    ["kurrentdb://::1?tls=false", /IPv6 address.*host name/],
    ["esdb://host:2113?tls=False", /needs tls to be true or false, in small letters/],
    ["kdb://user:secret@host?TLS=TRUE", /needs TLS to be true or false, in small letters/],
    ["esdb://user:secret@host?tls=true&tls_verify_cert=False", /needs tls_verify_cert to be true or false/],
    ["esdb://user:secret@host?throwOnAppendFailure=0", /needs throwOnAppendFailure to be true or false/],
    ["esdb://user:secret@host?tls=true&rootCa=/x", /option that the client does not know, rootCa/],
    ["esdb://user:secret@host?tls=true&tlsVerifyCert=false", /tlsVerifyCert=false.*tlsCAFile/],
    ["kurrent://host:2113", /needs user:password@ or tls=false/],
  ];
  for (const [url, says] of faults) {
    it(`the EventStoreDB adapter names what it cannot use of ${url.replace("secret", "…")}`, () => {
      expect(() => createEventStoreDbStore({ connectionString: url }))
        .to.throw(StartError, says)
        .with.property("message")
        .that.does.not.include("secret");
    });
  }
});
