import { tmpdir } from "node:os";
import { expect } from "chai";
import { databaseTooLarge, shortOfDisk, watchDiskRoom } from "#src/platform/postgres/diskRoom.ts";

describe("room on the disk", () => {
  it("disk room is the free space at the data, or what is left of the database's allowed size", async () => {
    expect(await shortOfDisk(tmpdir(), 0)()).to.equal(undefined);
    expect(await shortOfDisk(tmpdir(), 1_000_000_000)()).to.match(
      /^\d+ MB are free on the disk of .*, below 1000000000 MB$/,
    );
    const database = { query: async () => ({ rows: [{ size: "2000001" }], rowCount: 1 }) } as never;
    expect(await databaseTooLarge(database, 3)()).to.equal(undefined);
    expect(await databaseTooLarge(database, 2)()).to.equal("the database holds 3 MB, above 2 MB");
  });

  it("disk room is checked repeatedly and logged when it changes; while unknown, the last result holds", async () => {
    const said: unknown[] = [];
    const log = { warn: (what: unknown) => said.push(what), info: (what: unknown) => said.push(what) } as never;
    let looked = 0;
    let answer: () => Promise<string | undefined> = async () => "1 MB";
    const shortage = () => {
      looked++;
      return answer();
    };
    const room = await watchDiskRoom(shortage, { log, everyMs: 2 });
    const twiceMore = async () => {
      const before = looked;
      while (looked <= before + 1) await new Promise((resolve) => setTimeout(resolve, 2));
    };
    try {
      expect(room.isFull()).to.equal(true);
      answer = () => Promise.reject(new Error("away"));
      await twiceMore();
      expect(room.isFull()).to.equal(true);
      answer = async () => undefined;
      await twiceMore();
      expect(room.isFull()).to.equal(false);
      expect(said).to.deep.equal([{ detail: "1 MB" }, "there is room on the disk again, mail is taken"]);
    } finally {
      room.close();
    }
  });
});
