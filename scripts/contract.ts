import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ContractRow, rows } from "../test/contract/rows.ts";
import { isTag, type Titled, testTitles } from "./support/testTitles.ts";

/**
 * `npm run contract`: a Markdown table of the contract's rows and the tests that prove them, made from the titles of the tests. Test
 * files are read as text, not loaded. Exit code 1 if a row has no test, or a title names a row that does not exist.
 */
type ContractProof = { file: string; title: string };
const proofs = new Map<string, ContractProof[]>();
const strays: string[] = [];
/** Maximum number of tests that are named for a row; the others are counted. */
const shown = 3;
for (const name of readdirSync("test", { recursive: true, encoding: "utf8" }).sort()) {
  if (!name.endsWith(".ts")) continue;
  const file = join("test", name);
  for (const test of testTitles(readFileSync(file, "utf8"))) collect(file, test);
}

const unproven = rows.filter((row) => !proofs.has(row.id) && row.later === undefined);
console.log(table());
for (const { id } of unproven) console.error(`no test: [${id}]`);
for (const stray of strays) console.error(`no such row: ${stray}`);
console.error(
  `${rows.length} rows: ${rows.filter(({ id }) => proofs.has(id)).length} proven, ${unproven.length} without a test, ${rows.filter(({ id, later }) => later !== undefined && !proofs.has(id)).length} left to later; ${strays.length} stray tags`,
);
process.exit(unproven.length + strays.length > 0 ? 1 : 0);

function collect(file: string, { title, under, words }: Titled): void {
  for (const tag of new Set(tagsOf([...under, title].join(" ")))) {
    const named = rows.filter(({ id }) => isTag(tag, id, words));
    for (const { id } of named) proofs.set(id, [...(proofs.get(id) ?? []), { file, title }]);
    if (named.length === 0) strays.push(`[${tag}] in ${file}: ${title}`);
  }
}

/** Returns the tags of sections 3 to 9; those of decisions (`[d9 grants]`) are not checked. */
function tagsOf(title: string): string[] {
  return [...title.matchAll(/\[([3-9] [^\]]+)\]/g)].map(([, tag]) =>
    (tag as string).replaceAll(/(?<!\$)\{\w+\}/g, "{id}"),
  );
}

function table(): string {
  const lines = rows.map((row) => `| ${row.id} | ${row.says} | ${provenBy(row)} |`);
  return ["| row | the contract | proven by |", "|---|---|---|", ...lines].join("\n").replaceAll("||", "| |");
}

function provenBy({ id, later }: ContractRow): string {
  const tests = proofs.get(id);
  if (!tests) return later === undefined ? "**nothing**" : `_later: ${later}_`;
  const titles = tests.slice(0, shown).map(({ file, title }) => `${file}: ${plain(title)}`);
  return [...titles, ...(tests.length > shown ? [`and ${tests.length - shown} more`] : [])].join("<br>");
}

function plain(title: string): string {
  return title.replaceAll(/ ?\[d?\d+ [^\]]+\]/g, "").replaceAll("|", "\\|");
}
