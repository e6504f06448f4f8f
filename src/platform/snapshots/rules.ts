import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

const ownSources = new URL(import.meta.resolve("#streams/upcast.ts").replace("upcast.ts", ""));

/** Events are folded as these leave them, whatever the stream. */
const ofAllStreams = "upcast.ts";

const imported = /\bfrom\s+"(\.{1,2}\/[^"]+)"/g;

let own: ReadonlyMap<string, string> | undefined;

/** The service's, read once a process. */
export const ownRules = (): ReadonlyMap<string, string> => (own ??= rulesOfStreams());

/**
 * For each kind of stream, by category, a hash of the sources that make its states: its folder, everything they import, and the upcasters.
 * A change of any of them makes another one, by itself.
 */
export function rulesOfStreams(sources: URL = ownSources): Map<string, string> {
  const texts = new Map<string, string>();

  /** A file of streams/, by its path in there. */
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
