import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { textOf } from "#test/support/imports.ts";

/**
 * Turns that a native reader stumbles over, and what is said in their place. `examples`: sentences that have one; `not`: some that look like it and have none.
 */
const tics: { name: string; turn: RegExp; say: string; examples: string[]; not?: string[] }[] = [
  {
    name: "whoever",
    turn: /\bwhoever\b/i,
    say: "anyone who, the one who, or by name",
    examples: ["Whoever has the link decides."],
  },
  { name: "nobody's", turn: /\bnobody's\b/i, say: "no … has it", examples: ["It is in nobody's inbox."] },
  { name: "in vain", turn: /\bin vain\b/i, say: "failed, ran out", examples: ["How often it was tried in vain."] },
  {
    name: "of before",
    turn: /[a-z] of before\b/i,
    say: "earlier, older, former; from before it …",
    examples: ["Timers of before have none."],
    not: ["for (const [name] of before) {"],
  },
  {
    name: "anew",
    turn: /(?<=[a-z,] )(?<!\bconst )anew\b/i,
    say: "again",
    examples: ["The approvers are asked anew."],
    not: [
      "const anew = contentSha256(made.content);",
      "const known = anew ? undefined : found;",
      "unless asked `anew`",
    ],
  },
  {
    name: "stands in",
    turn: /\b(?:stands?|stood) (?:in(?! (?:the|each other's) way)|on(?! (?:its|their) own)|at|behind|before|under|below|above|beside|between|around|there|here|inside|outside|directly|open|twice)\b/i,
    say: "is, are, was",
    examples: ["It stands in no log.", "The question stands open again.", "Proxies that stand in front of it."],
    not: [
      "Something else stands in the way.",
      "`approval` stands for keys too.",
      "It stands still.",
      "the tests' stand-in",
    ],
  },
  {
    name: "where for if",
    turn: /\bWhere (?:several|nobody|somebody|nothing|none|no|only|more than|human approval)\b/,
    say: "If",
    examples: ["Where several have to approve, it is one approval."],
    not: ["Where a message is, as Telegram names it."],
  },
];

/** The words of others: what strangers write to an agent. */
const allowed = [["src/channels/hints/toTheAgent.ts", "(?:anyone|anybody|whoever|person"]] as const;

/** Migrations are not among them: what has run once does not change. */
const files = ["streams", "projections", "src", "scripts"]
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)))
  .filter((path) => /\.(ts|mjs|js|css|md)$/.test(path))
  .concat("README.md", "docker-compose.yml", "test/README.md");

/** Prose without blocks and spans of code: what is in them is no sentence. Source as it is, with its comments and texts. */
const readable = (path: string): string => {
  const text = textOf(path);
  return path.endsWith(".md") ? text.replaceAll(/^```[^\n]*\n[\s\S]*?^```/gm, "").replaceAll(/`[^`\n]+`/g, "…") : text;
};

const isAllowed = (path: string, line: string): boolean =>
  allowed.some(([file, part]) => file === path && line.includes(part));

describe("documents, texts and comments", () => {
  for (const { name, turn, say, examples, not = [] } of tics) {
    it(`have no “${name}”: they say “${say}”`, () => {
      for (const example of examples) expect(example).to.match(turn);
      for (const other of not) expect(other).not.to.match(turn);
      const found = files.flatMap((path) =>
        readable(path)
          .split("\n")
          .filter((line) => turn.test(line) && !isAllowed(path, line))
          .map((line) => `${path}: ${line.trim()}`),
      );
      expect(found).to.deep.equal([]);
    });
  }

  it("are looked through, all of them, and nothing is allowed that is not there", () => {
    expect(files.length).to.be.above(800);
    for (const [file, part] of allowed) expect(textOf(file)).to.include(part);
  });
});
