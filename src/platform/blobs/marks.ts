/** A set of hashes, 8 bytes each. */
export type BlobMarks = {
  add(sha256: string): void;
  /** True for each hash that was added. A false positive needs a hash with the same first 64 bits, that is billions of hashes. */
  has(sha256: string): boolean;
};

/** Creates a compact set of hashes for logs of any length: a Set of strings takes fifteen times the memory. */
export function createMarks(room = 1 << 16): BlobMarks {
  let kept = new BigUint64Array(room);
  let count = 0;
  let sorted = true;

  const wordOf = (sha256: string): bigint => BigInt(`0x${sha256.slice(0, 16)}`);

  /** Sorts and deduplicates; new hashes are at the end until then. */
  function sort(): void {
    const words = kept.subarray(0, count).sort();
    count = 0;
    for (const word of words) if (count === 0 || kept[count - 1] !== word) kept[count++] = word;
    sorted = true;
  }

  function makeRoom(): void {
    sort();
    if (count < kept.length / 2) return;
    const larger = new BigUint64Array(kept.length * 2);
    larger.set(kept.subarray(0, count));
    kept = larger;
  }

  return {
    add(sha256) {
      if (count === kept.length) makeRoom();
      kept[count++] = wordOf(sha256);
      sorted = false;
    },
    has(sha256) {
      if (!sorted) sort();
      const word = wordOf(sha256);
      let [low, high] = [0, count];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((kept[middle] as bigint) < word) low = middle + 1;
        else high = middle;
      }
      return low < count && kept[low] === word;
    },
  };
}
