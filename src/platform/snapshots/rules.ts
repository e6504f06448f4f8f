import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

const ownSources = new URL(import.meta.resolve("#streams/upcast.ts").replace("upcast.ts", ""));

/** The upcasters affect the states of all streams. */
const ofAllStreams = "upcast.ts";

const imported = /\bfrom\s+"(\.{1,2}\/[^"]+)"/g;

let own: ReadonlyMap<string, string> | undefined;

/** Hashes of the service's own rules, read once per process. */
export const ownRules = (): ReadonlyMap<string, string> => (own ??= rulesOfStreams());

/**
 * Returns, for each category of streams, a hash of the sources that determine its states: its folder, everything they import, and the
 * upcasters. Any change of them changes the hash.
 */
export function rulesOfStreams(sources: URL = ownSources): Map<string, string> {
  const texts = new Map<string, string>();

  /** Reads a file of streams/, by its path in that folder. */
  function textOf(file: string): string {
    const text = texts.get(file) ?? readFileSync(new URL(file, sources), "utf8");
    texts.set(file, text);
    return text;
  }

  function withImports(files: readonly string[]): string[] {
    const found = new Set(files);
    for (const file of found) {
      for (const [, path] of textOf(file).matchAll(imported)) {
        const { href } = new URL(path!, new URL(file, sources));
        if (!href.startsWith(sources.href)) throw new Error(`${file} imports ${path}, which is not in streams/`);
        found.add(href.slice(sources.href.length));
      }
    }
    return [...found].sort();
  }

  function hashOf(category: string): string {
    const own = readdirSync(new URL(`${category}/`, sources)).filter((name) => name.endsWith(".ts"));
    const hash = createHash("sha256");
    for (const file of withImports([ofAllStreams, ...own.map((name) => `${category}/${name}`)])) {
      const text = textOf(file);
      hash.update(`${file} ${text.length}\n${text}`);
    }
    return hash.digest("hex").slice(0, 32);
  }

  const categories = readdirSync(sources, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return new Map(categories.map(({ name }) => [name, hashOf(name)]));
}
