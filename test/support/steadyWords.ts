/** Patterns of values that differ between runs, with their replacements. */
const patterns: [RegExp, (nth: (kind: string, word: string) => string, word: string) => string][] = [
  [
    /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g,
    (nth, id) => `00000000-0000-7000-8000-${nth("id", id).padStart(12, "0")}`,
  ],
  [/(?<=untrusted-data )[0-9a-f]{18}\b/g, (nth, word) => nth("fence", word).padStart(18, "0")],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, () => "2026-11-23T10:00:00.000Z"],
  [/\b(?:just now|\d+ minutes? ago) \([^)]+ UTC\)/g, () => "just now (23 Nov 2026, 10:00 UTC)"],
];

/**
 * Replaces ids, fences and times, equal ones equally, so that the outputs of two runs can be compared. `words` are replaced first, each
 * by its own substitute, with the hyphen before it.
 */
export function steadyWords(words: Readonly<Record<string, string>>): (text: string) => string {
  const known = new Map<string, string>();
  const counts = new Map<string, number>();

  function nth(kind: string, word: string): string {
    const key = `${kind} ${word}`;
    const count = (counts.get(kind) ?? 0) + (known.has(key) ? 0 : 1);
    if (!known.has(key)) {
      counts.set(kind, count);
      known.set(key, String(count));
    }
    return known.get(key) as string;
  }

  return (text) => {
    const named = Object.entries(words).reduce((all, [word, by]) => all.replaceAll(`-${word}`, by), text);
    return patterns.reduce((all, [pattern, by]) => all.replaceAll(pattern, (word) => by(nth, word)), named);
  };
}
