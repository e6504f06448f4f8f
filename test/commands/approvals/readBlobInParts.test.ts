import { createHash, randomBytes } from "node:crypto";
import { expect } from "chai";
import { readBlobInParts } from "#src/commands/approvals/readBlobInParts.ts";
import { BlobCorrupt, type Blobs } from "#src/platform/blobs/blobs.ts";
import { memoryBlobs } from "#test/support/memoryBlobs.ts";

describe("a blob read in parts", () => {
  const bytes = randomBytes(1_000);
  const sha256 = createHash("sha256").update(bytes).digest("hex");

  async function read(blobs: Pick<Blobs, "part">, { size = 1_000, count = 300, of = sha256 } = {}) {
    const parts: Buffer[] = [];
    let failure: unknown;
    try {
      for await (const part of readBlobInParts(blobs, { sha256: of, size, count })) parts.push(part);
    } catch (error) {
      failure = error;
    }
    return { parts, failure };
  }

  it("a blob read in parts is complete, in parts no larger than requested", async () => {
    const { parts, failure } = await read(memoryBlobs(new Map([[sha256, bytes]])));
    expect(failure).to.equal(undefined);
    expect(parts.map(({ length }) => length)).to.deep.equal([300, 300, 300, 100]);
    expect(Buffer.concat(parts).equals(bytes)).to.equal(true);
    const empty = createHash("sha256").digest("hex");
    expect(await read(memoryBlobs(), { of: empty, size: 0 })).to.deep.equal({ parts: [], failure: undefined });
  });

  it("a blob read in parts fails if it is damaged, cut off or gone", async () => {
    const damaged = Buffer.from(bytes);
    damaged[999] = (damaged[999] ?? 0) ^ 1;
    const [altered, cut, gone] = await Promise.all([
      read(memoryBlobs(new Map([[sha256, damaged]]))),
      read(memoryBlobs(new Map([[sha256, bytes.subarray(0, 950)]]))),
      read(memoryBlobs()),
    ]);
    for (const { parts, failure } of [altered, cut]) {
      expect(failure).to.be.instanceOf(BlobCorrupt);
      expect(parts).to.have.length(3);
    }
    expect([gone.parts, (gone.failure as Error).message]).to.deep.equal([[], `the blob ${sha256} is missing`]);
  });
});
