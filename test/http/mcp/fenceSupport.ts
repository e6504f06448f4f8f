import { expect } from "chai";
import { maxStructured, maxText } from "#src/http/mcp/bounds.ts";
import { faultsOf } from "#test/attacks/words/hostile.ts";
import { mark } from "./hostileWords.ts";

/** Returns a result's text outside and inside of fences. Throws if a fence does not end, or contains an unmarked line. */
export function outsideFences(text: string): { outside: string; fences: number } {
  const outside: string[] = [];
  let fences = 0;
  let word: string | undefined;
  for (const line of text.split("\n")) {
    const opened = /^<untrusted-data ([0-9a-f]{18}): /.exec(line)?.[1];
    if (word !== undefined && line === `</untrusted-data ${word}>`) {
      word = undefined;
    } else if (word !== undefined) {
      expect(line, "inside a fence").to.match(/^\|( |$)/);
      expect(line).to.not.include(word);
    } else if (opened !== undefined) {
      word = opened;
      fences += 1;
    } else {
      outside.push(line);
    }
  }
  expect(word, "a fence that does not end").to.equal(undefined);
  return { outside: outside.join("\n"), fences };
}

/**
 * Expects that no text by strangers is outside of a fence or an `untrusted` object, that no character is invisible, and that both are
 * bounded.
 */
export function requireFenced(name: string, { text, structured }: { text: string; structured: unknown }): void {
  const { outside } = outsideFences(text);
  expect(outside, name).to.not.include(mark);
  expect(outside, name).to.not.match(/untrusted-data/i);
  expect(faultsOf({ kind: "text", content: text }), name).to.deep.equal([]);
  expect(JSON.stringify(trusted(structured)), `${name}: structured`).to.not.include(mark);
  for (const value of new Set(strings(structured)))
    expect(faultsOf({ kind: "text", content: value }), name).to.deep.equal([]);
  expect(text.length, `${name}: characters`).to.be.at.most(maxText);
  expect(JSON.stringify(structured).length, `${name}: structured`).to.be.at.most(maxStructured);
}

/** Structured content without what others wrote. */
function trusted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(trusted);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => name !== "untrusted");
  return Object.fromEntries(kept.map(([name, inner]) => [name, trusted(inner)]));
}

function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}
