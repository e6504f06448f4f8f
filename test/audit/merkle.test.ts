import { createHash, randomBytes } from "node:crypto";
import { expect } from "chai";
import {
  emptyRoot,
  hashChildren,
  hashEntry,
  isConsistent,
  proveConsistency,
  proveInclusion,
  type ReadNodes,
  rootOf,
} from "#src/audit/merkle.ts";
import { rootByInclusion } from "#test/support/auditReading.ts";

const hex = (text: string): Buffer => Buffer.from(text, "hex");

/** Entries and roots that Certificate Transparency's own implementations are tested with. */
const known = [
  ["", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"],
  ["00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
  ["10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"],
  ["2021", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"],
  ["3031", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"],
  ["40414243", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"],
  ["5051525354555657", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"],
  ["606162636465666768696a6b6c6d6e6f", "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"],
] as const;

/** The root by the definition of RFC 6962, section 2.1, read word by word. */
function definedRoot(hashes: readonly Buffer[]): Buffer {
  if (hashes.length === 0) return createHash("sha256").digest();
  if (hashes.length === 1) return hashes[0]!;
  let half = 1;
  while (half * 2 < hashes.length) half *= 2;
  return hashChildren(definedRoot(hashes.slice(0, half)), definedRoot(hashes.slice(half)));
}

const nodesIn =
  (hashes: readonly Buffer[]): ReadNodes =>
  async (nodes) =>
    nodes.map(({ level, number }) => {
      const own = hashes.slice(number * 2 ** level, (number + 1) * 2 ** level);
      expect(own, "a complete node").to.have.length(2 ** level);
      return definedRoot(own);
    });

describe("the hash tree of RFC 6962", () => {
  const random = Array.from({ length: 70 }, (_, n) => hashEntry(Buffer.from(`entry ${n}`)));

  it("an empty tree has the SHA-256 of nothing as its root", () => {
    expect(emptyRoot().toString("hex")).to.equal("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  });

  for (const [n, [, root]] of known.entries())
    it(`the first ${n + 1} known entries have the known root`, async () => {
      const hashes = known.slice(0, n + 1).map(([entry]) => hashEntry(hex(entry)));
      expect((await rootOf(nodesIn(hashes), n + 1)).toString("hex")).to.equal(root);
    });

  it("every entry of trees of 1 to 70 entries is proved, and no other entry by its proof", async () => {
    for (let size = 1; size <= random.length; size += 1) {
      const hashes = random.slice(0, size);
      const root = definedRoot(hashes);
      expect((await rootOf(nodesIn(hashes), size)).equals(root), `root of ${size}`).to.equal(true);
      for (const [entry, hash] of hashes.entries()) {
        const proof = await proveInclusion(nodesIn(hashes), { entry, size });
        expect(rootByInclusion(hash, { entry, size, proof })?.equals(root), `${entry} of ${size}`).to.equal(true);
        const other = (entry + 1) % size;
        const wrong = [
          rootByInclusion(randomBytes(32), { entry, size, proof }),
          ...(size > 1 ? [rootByInclusion(hash, { entry: other, size, proof })] : []),
          rootByInclusion(hash, { entry, size, proof: [...proof, hash] }),
          ...(size > 1 ? [rootByInclusion(hash, { entry, size, proof: proof.slice(1) })] : []),
        ];
        expect(
          wrong.some((found) => found?.equals(root)),
          `forged ${entry} of ${size}`,
        ).to.equal(false);
      }
    }
  });

  it("every older tree is proved to be the beginning of every newer one, and a changed one is not", async () => {
    for (let to = 1; to <= random.length; to += 1) {
      const newer = { size: to, root: definedRoot(random.slice(0, to)) };
      for (let from = 1; from <= to; from += 1) {
        const older = { size: from, root: definedRoot(random.slice(0, from)) };
        const proof = await proveConsistency(nodesIn(random.slice(0, to)), { from, to });
        expect(isConsistent(older, newer, proof), `${from} in ${to}`).to.equal(true);
        expect(isConsistent({ ...older, root: randomBytes(32) }, newer, proof), `changed ${from}`).to.equal(false);
        expect(isConsistent(older, { ...newer, root: randomBytes(32) }, proof), `changed ${to}`).to.equal(false);
        expect(isConsistent(older, newer, [...proof, randomBytes(32)]), `longer ${from} in ${to}`).to.equal(false);
        if (proof.length > 0)
          expect(isConsistent(older, newer, proof.slice(1)), `shorter ${from} in ${to}`).to.equal(false);
      }
    }
  });
});
