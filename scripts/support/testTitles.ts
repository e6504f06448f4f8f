/** A test found in its file's text; `under`: the titles of the enclosing blocks, the outermost first. */
export type Titled = {
  title: string;
  under: readonly string[] /** The strings of its file. */;
  words: ReadonlySet<string>;
};

const literal = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;
const opening =
  /^( *)(?:const \w+ = )?(it|describe|context)\(\s*$|^( *)(it|describe|context)\(\s*("(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)/;

/**
 * Finds the tests in a file's text without running or loading it. A title that is made in a loop counts once, with its holes (`${…}`).
 * Skipped and commented-out tests are ignored. Relies on the formatter's indentation.
 */
export function testTitles(text: string): Titled[] {
  const words = new Set([...text.matchAll(literal)].map(([quoted]) => quoted.slice(1, -1)));
  const lines = text.split("\n");
  const open: { indent: number; title: string }[] = [];
  const found: Titled[] = [];
  for (const [n, line] of lines.entries()) {
    const closed = /^( *)\}\)/.exec(line)?.[1]?.length;
    if (open.length > 0 && open.at(-1)!.indent === closed) open.pop();
    const [, bareIndent, bareKind, indentOf, kindOf, quoted] = opening.exec(line) ?? [];
    const kind = kindOf ?? bareKind;
    if (!kind) continue;
    const indent = (indentOf ?? bareIndent)!.length;
    const given = quoted ?? (lines[n + 1] ?? "").trim().match(literal)?.[0];
    // A title that is a name: of a list in the same file, or irrelevant.
    const title = withNames(given?.slice(1, -1) ?? "", lines);
    if (kind === "it") found.push({ title, under: open.map((each) => each.title), words });
    else open.push({ indent, title });
  }
  return found;
}

/** Replaces `${tag}` if a line of the file says `const tag = … \`[5 ${scope}]\` …`: by the strings of that line. */
const withNames = (title: string, lines: readonly string[]): string =>
  title.replaceAll(/\$\{(\w+)\}/g, (hole, name) => {
    const declared = lines.find((line) => line.includes(`const ${name} = `) && /[`"]\[\w/.test(line));
    return declared ? [...declared.matchAll(literal)].map(([quoted]) => quoted.slice(1, -1)).join(" ") : hole;
  });

/**
 * True if a tag matches the name. A hole matches any string of the same file: the values of the loop are unknown, but a name that does
 * not occur in the file is not one of them.
 */
export function isTag(tag: string, name: string, words: ReadonlySet<string>): boolean {
  if (!tag.includes("${")) return tag === name;
  const parts = tag.split(/\$\{[^}]*\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const holes = new RegExp(`^${parts.join("(.+)")}$`).exec(name)?.slice(1);
  return holes?.every((hole) => words.has(hole)) ?? false;
}
