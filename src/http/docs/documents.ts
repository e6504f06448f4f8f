import { readFileSync } from "node:fs";

/** The pages in /docs besides the API reference, by name. Each is a file of this folder. */
export const documents = {
  contract: "How the service fulfils its contract, section by section",
  mcp: "An assistant at the door: the tools, settings of its clients, ten minutes with MCP and REST side by side",
  story: "What an agent sees of a customer's mails and a person's decisions: a transcript",
  operations: "Running it: settings, commands, metrics, alarms, backup, and what to do when",
  glossary: "The words of this project, one meaning each, and the folder that has the rule",
  "log-lines": "Every message of the log, and what to do about it",
} as const;

const fileOf = (name: string): URL => new URL(import.meta.resolve(`#src/http/docs/${name}.md`));

export const documentText = (name: string): string => readFileSync(fileOf(name), "utf8");

/** Converts a link between two of these files to the path at which they are served; other links stay. */
export const pageOf = (target: string): string =>
  target.replace(/^introduction\.md/, "/docs").replace(/^([\w-]+)\.md/, "/docs/$1");

/** The files with tables generated from the code. */
export const pageFiles: readonly URL[] = ["introduction", ...Object.keys(documents)].map(fileOf);

const block = /<!-- table: (\w+) -->\n[\s\S]*?<!-- end of table -->/g;

/**
 * Fills in a page's tables from the code. In the file each is between two comments, so that the file can be read as it is; `marked` keeps
 * the comments, for writing the file. Throws if a table's name is unknown.
 */
export function withTables(text: string, tables: Readonly<Record<string, string>>, marked = false): string {
  return text.replaceAll(block, (_, name: string) => {
    const made = tables[name];
    if (made === undefined) throw new Error(`there is no table ${name}`);
    return marked ? `<!-- table: ${name} -->\n${made}\n<!-- end of table -->` : made;
  });
}
