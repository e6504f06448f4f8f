import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";

/** The tests' stand-in for EventStoreDB as a process of its own; says its URL, and ends with its parent. */
const server = await new EventStoreDbStandIn().start();
process.stdout.write(`${server.url}\n`);
process.stdin.on("end", () => process.exit()).resume();
