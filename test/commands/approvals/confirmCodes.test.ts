import { expect } from "chai";
import { confirmCodeMac, confirmCodeMacs, newConfirmCode } from "#src/commands/approvals/confirmCodes.ts";
import { createKeyRing, newRingKey } from "#src/platform/secrets/keyRing.ts";

const [old, young] = [newRingKey("old"), newRingKey("young")];
const ring = (...keys: string[]) => ({ keyRing: createKeyRing(keys.join(",")) });

describe("the code of an approval mail", () => {
  it("codes of approval mail are drawn with equal probability, leading zeros included", () => {
    const counts = new Map<string, number>();
    let drawn = 0;
    let draws = 0;
    const ids = {
      uuid: () => "",
      random: () => {
        draws += 1;
        return Buffer.from([drawn >> 8, drawn++ & 255]);
      },
    };
    while (drawn < 60_000) {
      const code = newConfirmCode({ ids });
      counts.set(code, (counts.get(code) ?? 0) + 1);
    }
    expect([...counts.keys()].every((code) => /^\d{4}$/.test(code))).to.equal(true);
    expect([counts.size, new Set(counts.values())]).to.deep.equal([10_000, new Set([6])]);
    expect([counts.has("0000"), counts.has("0042")]).to.deep.equal([true, true]);
    // The highest values of two bytes would favour the low codes, so such a value is drawn again.
    drawn = 65_535;
    draws = 0;
    ids.random = () => Buffer.from(draws++ === 0 ? [255, 255] : [0, 7]);
    expect([newConfirmCode({ ids }), draws]).to.deep.equal(["0007", 2]);
  });

  it("a code is stored as a MAC that nobody can guess without the key ring, bound to its notification", () => {
    const kept = confirmCodeMac(ring(old), "one", "4831");
    expect(kept).to.match(/^[0-9a-f]{64}$/);
    expect(confirmCodeMac(ring(old), "two", "4831")).not.to.equal(kept);
    expect(confirmCodeMac(ring(young), "one", "4831")).not.to.equal(kept);
    expect(confirmCodeMacs(ring(old), "one", "4832")).not.to.include(kept);
  });

  it("a code is right for as long as the key that it was made under is in the ring", () => {
    const kept = confirmCodeMac(ring(old), "one", "4831");
    const typed = (...keys: string[]) => confirmCodeMacs(ring(...keys), "one", "4831");
    expect(typed(old)).to.include(kept);
    expect(typed(young, old)).to.include(kept);
    expect(typed(young)).not.to.include(kept);
  });
});
