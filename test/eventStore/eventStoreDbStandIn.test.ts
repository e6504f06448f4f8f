import { ErrorType, EventStoreDBClient, jsonEvent } from "@eventstore/db-client";
import { expect } from "chai";
import { maxAppendSize } from "#test/support/eventStoreDbStandIn/log.ts";
import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";
import { errorOf } from "./contract/support.ts";

/** The behaviour that the stand-in imitates: the same results were observed on a real server with this client. */
describe("EventStoreDB stand-in, seen by the bare client", () => {
  let server: EventStoreDbStandIn;
  let client: EventStoreDBClient;
  const credentials = { username: "any", password: "any" };
  const stream = "note-1";

  beforeEach(async () => {
    server = await new EventStoreDbStandIn().start();
    client = EventStoreDBClient.connectionString(server.url);
  });
  afterEach(async () => {
    await client.dispose();
    server.stop();
  });

  const note = (text = "", id = crypto.randomUUID() as string) => jsonEvent({ id, type: "Noted", data: { text } });
  const append = (events: ReturnType<typeof note>[], expectedRevision: "any" | "no_stream" | bigint) =>
    client.appendToStream(stream, events, { expectedRevision, credentials });
  const typeOf = async (promise: Promise<unknown>) => ((await errorOf(promise)) as { type?: ErrorType }).type;

  it("the EventStoreDB stand-in takes up to 1 MiB of data in one append", async () => {
    const room = maxAppendSize - '{"text":""}'.length;
    await append([note("x".repeat(room))], "no_stream");
    expect(await typeOf(append([note("x".repeat(room + 1))], 0n))).to.equal(ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED);
  });

  it("the EventStoreDB stand-in recognises ids at any revision only for a while", async () => {
    const event = note();
    const first = await append([event], "any");
    expect(await append([event], "any")).to.deep.equal(first);
    server.writeForeign(2000);
    expect((await append([event], "any")).nextExpectedRevision).to.equal(1n);
  });

  it("the EventStoreDB stand-in says which revision was wrong", async () => {
    await append([note(), note()], "no_stream");
    const error = await errorOf(append([note()], "no_stream"));
    expect(error).to.include({ type: ErrorType.WRONG_EXPECTED_VERSION, actualVersion: 1n });
    const known = note();
    await append([known], 1n);
    expect(await typeOf(append([known, note()], 1n)), "a known one and a new one").to.equal(
      ErrorType.WRONG_EXPECTED_VERSION,
    );
  });

  it("the EventStoreDB stand-in rejects with a bare gRPC error while it is down", async () => {
    server.stop();
    const error = await errorOf(append([note()], "no_stream"));
    expect(error).to.include({ code: 14 });
  });

  it("the EventStoreDB stand-in reads from no position between records, and nothing beyond the end", async () => {
    server.writeForeign(3);
    const at = server.log.records[1]!.position;
    const readFrom = (position: number) => {
      const both = { commit: BigInt(position), prepare: BigInt(position) };
      return client.readAll({ fromPosition: both }).toArray();
    };
    expect(await readFrom(at)).to.have.length(3);
    expect(await typeOf(readFrom(at + 1))).to.equal(ErrorType.UNKNOWN);
    expect(await readFrom(at + 1_000_000)).to.deep.equal([]);
  });

  it("the EventStoreDB stand-in ends a subscription when more than 32 live events wait for it", async () => {
    const subscription = client.subscribeToAll();
    const failed = new Promise((resolve) => subscription.once("error", resolve));
    subscription.on("error", () => {});
    subscription.on("data", () => {});
    await new Promise((resolve) => subscription.once("caughtUp", resolve));
    server.writeForeign(32);
    await append([note()], "no_stream");
    server.writeForeign(33);
    expect(await failed).to.include({ type: ErrorType.TIMEOUT });
  });
});
