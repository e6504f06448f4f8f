import { randomBytes } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import { v7 } from "uuid";
import { createMessageIds } from "#src/mail/out/messageIds.ts";

const key = randomBytes(32);
const ids = createMessageIds(key);
const origin = { identityId: v7(), threadId: v7(), attemptId: v7() };
const domain = "agents.localhost";

describe("the service's Message-IDs", () => {
  it("a Message-ID carries identity, thread and attempt", () => {
    fc.assert(
      fc.property(
        fc.uuid({ version: 7 }),
        fc.uuid({ version: 5 }),
        fc.uuid({ version: 5 }),
        (identityId, threadId, attemptId) => {
          const minted = ids.mint({ identityId, threadId, attemptId, domain });
          expect(ids.open(minted)).to.deep.equal({ identityId, threadId, attemptId });
        },
      ),
      { numRuns: 200 },
    );
  });

  it("a Message-ID is a short dot-atom in brackets, the same for the same origin", () => {
    const minted = ids.mint({ ...origin, domain });
    expect(minted).to.match(/^<[A-Za-z0-9_-]{1,100}@agents\.localhost>$/);
    expect(ids.mint({ ...origin, domain })).to.equal(minted);
    expect(ids.mint({ ...origin, attemptId: v7(), domain })).not.to.equal(minted);
  });

  it("a Message-ID opens without brackets, with surrounding space, and under a replaced key", () => {
    const minted = ids.mint({ ...origin, domain });
    expect(ids.open(minted.slice(1, -1))).to.deep.equal(origin);
    expect(ids.open(` ${minted}\t`)).to.deep.equal(origin);
    expect(createMessageIds(randomBytes(32), key).open(minted)).to.deep.equal(origin);
  });

  it("a Message-ID with any changed character in its local part does not open", () => {
    const minted = ids.mint({ ...origin, domain });
    for (let at = 1; at <= 80; at += 1) {
      const forged = minted.slice(0, at) + (minted[at] === "A" ? "B" : "A") + minted.slice(at + 1);
      expect(ids.open(forged), `character ${at}`).to.equal(undefined);
    }
  });

  it("a Message-ID in other case, of another key, shortened, lengthened or invented does not open", () => {
    const minted = ids.mint({ ...origin, domain });
    const other = createMessageIds(randomBytes(32)).mint({ ...origin, domain });
    for (const foreign of [
      minted.toLowerCase(),
      other,
      minted.replace("@", "A@"),
      `<${minted.slice(2)}`,
      minted.replace("@", ""),
      "<@x>",
      "",
    ])
      expect(ids.open(foreign), foreign).to.equal(undefined);
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => ids.open(text) === undefined),
      { numRuns: 300 },
    );
  });
});
