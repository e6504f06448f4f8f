import { seeded } from "./random.ts";

const syllables =
  "an be co da el fi ga ho in jo ka lo mi no or pe qui ra se ti un ve wa xo yt zu ber der gen ler ßen ön".split(" ");
const firstNames = "Ann Bob Zoë Jürgen Søren Łukasz Chloé Iván Priya Yuki Olga Femi Nuría Björn Siobhán Dilek".split(
  " ",
);

/** Text like mail, of made-up words with a natural distribution: the n-th most frequent word in proportion to 1/n. */
export type Writer = {
  /** The word of this rank, from 0. */
  word(rank: number): string;
  sentence(length: number): string;
  /** Returns a person, always the same for the same number. */
  person(number: number): { name: string; address: string };
  random(): number;
};

export function createWriter(seed: number, vocabularySize = 60_000): Writer {
  const random = seeded(seed);
  const words = vocabularyOf(random, vocabularySize);
  // The end of each word's interval between 0 and 1, for a binary search.
  const ends = new Float64Array(words.length);
  let sum = 0;
  for (let rank = 0; rank < words.length; rank++) {
    sum += 1 / (rank + 3);
    ends[rank] = sum;
  }
  const drawn = (): string => {
    const at = random() * sum;
    let [low, high] = [0, words.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] as number) < at) low = middle + 1;
      else high = middle;
    }
    return words[low] as string;
  };
  return {
    random,
    word: (rank) => words[rank] as string,
    sentence(length) {
      const parts = Array.from({ length }, drawn);
      // Order numbers and the like, nearly all of them new.
      if (random() < 0.05) parts.push(`INV-${Math.floor(random() * 9_000_000)}`);
      return `${parts.join(" ")}.`;
    },
    person(number) {
      const last = words[1_000 + (number % 20_000)] as string;
      const first = firstNames[number % firstNames.length] as string;
      const name = `${first} ${last[0]?.toUpperCase()}${last.slice(1)}`;
      return {
        name,
        address: `${first.normalize("NFKD").replace(/\W/g, "").toLowerCase()}.${number}@customer${number % 500}.example`,
      };
    },
  };
}

function vocabularyOf(random: () => number, size: number): string[] {
  const words = new Set<string>();
  while (words.size < size) {
    // The first words, the most frequent ones, are short.
    const count = 1 + Math.floor(random() * Math.min(4, 1 + words.size / 40));
    let word = "";
    for (let n = 0; n < count + 1; n++) word += syllables[Math.floor(random() * syllables.length)];
    words.add(word);
  }
  return [...words];
}
