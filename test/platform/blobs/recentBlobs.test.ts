import { randomBytes } from "node:crypto";
import { expect } from "chai";
import type { Blobs } from "#src/platform/blobs/blobs.ts";
import { rememberingBlobs } from "#src/platform/blobs/recentBlobs.ts";
import { memoryBlobs } from "#test/support/memoryBlobs.ts";
import { until } from "../../../scripts/support/client.ts";

/** A blob store, and the hashes that were fetched from it. */
function watched(): { store: Blobs; fetched: string[] } {
  const fetched: string[] = [];
  const store = memoryBlobs();
  const get: Blobs["get"] = (sha256) => {
    fetched.push(sha256);
    return store.get(sha256);
  };
  return { fetched, store: { ...store, get } };
}

describe("blobs that were stored a moment ago", () => {
  it("a recently stored blob is not fetched again", async () => {
    const { store, fetched } = watched();
    const blobs = rememberingBlobs(store);
    const bytes = randomBytes(5_000);
    const hash = await blobs.put(bytes);
    expect((await blobs.get(hash))?.equals(bytes)).to.equal(true);
    expect((await store.get(hash))?.equals(bytes)).to.equal(true);
    expect(fetched).to.deep.equal([hash]);
  });

  it("a cached blob is returned as it was stored, though the caller changes its bytes or a copy", async () => {
    const { store } = watched();
    const blobs = rememberingBlobs(store);
    const bytes = Buffer.from("where is my parcel");
    const storing = blobs.put(bytes);
    bytes.fill("x");
    const hash = await storing;
    (await blobs.get(hash))!.fill("y");
    expect((await blobs.get(hash))!.toString()).to.equal("where is my parcel");
    expect((await store.get(hash))!.toString()).to.equal("where is my parcel");
  });

  it("a large blob, or one that the store did not hash or take, is fetched", async () => {
    const { store, fetched } = watched();
    const blobs = rememberingBlobs(store);
    const given = await blobs.put(Buffer.from("given"), await store.put(Buffer.from("given")));
    const large = await blobs.put(randomBytes(200_000));
    await Promise.all([blobs.get(given), blobs.get(large)]);
    expect(fetched).to.deep.equal([given, large]);

    const away = rememberingBlobs({ ...store, put: () => Promise.reject(new Error("storage is away")) });
    const refused = await away.put(Buffer.from("refused")).catch((error: Error) => error.message);
    expect(refused).to.equal("storage is away");
    const hash = await memoryBlobs().put(Buffer.from("refused"));
    expect(await away.get(hash)).to.equal(undefined);
  });

  it("cached blobs are evicted for newer ones", async () => {
    const { store, fetched } = watched();
    const blobs = rememberingBlobs(store);
    const hashes: string[] = [];
    for (let number = 0; number < 100; number++) hashes.push(await blobs.put(randomBytes(100_000)));
    for (const hash of hashes) await blobs.get(hash);
    // 4 MiB hold 41 blobs of 100,000 bytes, including each blob's overhead.
    expect(fetched).to.deep.equal(hashes.slice(0, 100 - 41));
  });

  it("small cached blobs are evicted too: each takes more than its bytes", async () => {
    const { store, fetched } = watched();
    const blobs = rememberingBlobs(store);
    const first = await blobs.put(Buffer.from("first"));
    for (let number = 0; number < 10_000; number++) await blobs.put(Buffer.from(`${number}`));
    await blobs.get(first);
    expect(fetched).to.deep.equal([first]);
  });

  it("cached blobs are dropped when they are old", async () => {
    const { store, fetched } = watched();
    const blobs = rememberingBlobs(store, { recentMs: 5 });
    const hash = await blobs.put(Buffer.from("soon forgotten"));
    await until("it is fetched", async () => {
      await blobs.get(hash);
      return fetched.length > 0;
    });
  });
});
