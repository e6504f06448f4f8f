import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import dictionary from "dictionary-en-gb";
import nspell from "nspell";

/** The documents are in British spelling. Their links are checked in test/documents.test.ts. */

const here = new URL("./", import.meta.url);
const root = new URL("../", here);

/** The project's own words, one a line: names of products, formats and programs, and technical terms. */
const projectWords = readFileSync(new URL("spelling.txt", here), "utf8").trim().split("\n");

const speller = nspell({ aff: Buffer.from(dictionary.aff), dic: Buffer.from(dictionary.dic) });
for (const word of projectWords) speller.add(word);

const elsewhere = new Set(["node_modules", "data", "data-test", "dist"]);
function documentsIn(folder: string): string[] {
  return readdirSync(new URL(`${folder}/`, root), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return elsewhere.has(entry.name) || entry.name.startsWith(".") ? [] : documentsIn(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

/** A document's text without code, comments, HTML tags, addresses and the targets of links. */
const proseOf = (markdown: string): string =>
  markdown
    .replaceAll(/^ *```[^\n]*\n[\s\S]*?^ *```/gm, " ")
    .replaceAll(/``.+?``|`[^`]+`/g, " ")
    .replaceAll(/<!--[\s\S]*?-->|<[^>\n]+>/g, " ")
    .replaceAll(/\]\([^)\s]*\)/g, "] ")
    .replaceAll(/\S*(?:@|:\/\/)\S*|\S*[\w-]+\.(?:\w{2,})\b\S*/g, " ");

/** Lower-case and capitalised words of prose. Others, such as WAL and SendGrid, are names. */
const wordsOf = (prose: string): string[] =>
  prose.match(/(?<![\w'’-])[A-Z]?[a-z]+(?:['’][a-z]+)?(?![\w])/g)?.map((word) => word.replace("’", "'")) ?? [];

const isCorrect = (word: string): boolean => speller.correct(word) || speller.correct(word.replace(/'s?$/, ""));

/** Returns the words of a document that are in neither dictionary. */
const misspelled = (markdown: string): string[] =>
  [...new Set(wordsOf(proseOf(markdown)))].filter((word) => !isCorrect(word));

describe("the spelling of documents", () => {
  for (const file of documentsIn(".")) {
    it(`${file} has no misspelled word`, () => {
      expect(
        misspelled(readFileSync(new URL(file, root), "utf8")),
        "mend it, or add it to test/spelling.txt",
      ).to.deep.equal([]);
    });
  }

  it("a misspelled word is found in text, and not looked for in code, links and addresses", () => {
    expect(
      misspelled("Recieve a `mesage` from [a letter](messsage.md), adress@example.com, or http://exmaple.com."),
    ).to.deep.equal(["Recieve"]);
  });
});
