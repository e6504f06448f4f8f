import { expect } from "chai";
import { type MailReceivedEvent, takeReadBatch, withMemoryFor } from "#src/commands/inbound/readMail.ts";
import { createMemoryRoom } from "#src/commands/memoryRoom.ts";

const kilobytes = 1024;
const mailsOf = (workspaceId: string, sizes: readonly number[]): MailReceivedEvent[] =>
  sizes.map((size) => ({ data: { workspaceId, sizeBytes: size * kilobytes } }) as MailReceivedEvent);
const sizesOf = (received: readonly MailReceivedEvent[]) => received.map(({ data }) => data.sizeBytes / kilobytes);

describe("mails that are read together", () => {
  it("mails are read together if they are small and need no room; a large one is read alone", () => {
    const together = (...sizes: number[]) => sizesOf(takeReadBatch(mailsOf("a", sizes)));
    expect(together(100, 100, 56, 1)).to.deep.equal([100, 100, 56]);
    expect(together(10, 300, 10)).to.deep.equal([10]);
    expect(together(300, 10)).to.deep.equal([300]);
    expect(together(40_000, 300)).to.deep.equal([40_000]);
  });

  it("a small mail waits for one mail of those that fill the room, not for all that wait there", async () => {
    const mailRoom = createMemoryRoom(64 * 1024 * kilobytes);
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const read = (workspaceId: string, sizes: readonly number[]) => {
      const page = takeReadBatch(mailsOf(workspaceId, sizes));
      const work = () => {
        begun.push(...page.map(({ data }) => data.workspaceId));
        return new Promise<void>((resolve) => ends.push(resolve));
      };
      return withMemoryFor({ mailRoom }, page, work);
    };
    const later = () => new Promise((resolve) => setImmediate(resolve));
    const flood = Array.from({ length: 12 }, (_, n) => read(n % 2 ? "flooded" : "flooded too", Array(20).fill(8_192)));
    await later();
    expect(begun, "each of two its half").to.have.length(8);
    const other = read("other", [300]);
    await later();
    expect(begun).to.have.length(8);
    ends.shift()?.();
    await later();
    expect(begun[8]).to.equal("other");
    for (let end = ends.shift(); end; end = ends.shift()) {
      end();
      await later();
    }
    await Promise.all([...flood, other]);
  });
});
