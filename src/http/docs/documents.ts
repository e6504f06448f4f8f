import { readFileSync } from "node:fs";

/** A page in /docs besides the API reference: a file of this folder. */
type Page = { group: PageGroup; title: string; says: string };

/** Groups of the navigation, in their order. The API reference, which is no file, is in the first and the last. */
export const pageGroups = ["Start", "Guides", "Operate", "Reference"] as const;
type PageGroup = (typeof pageGroups)[number];

/** The pages by name, in the order in which the navigation shows them. */
export const documents = {
  story: {
    group: "Start",
    title: "A story",
    says: "What an agent sees of a customer's mails and a person's decisions: a transcript",
  },
  contract: {
    group: "Guides",
    title: "Contract",
    says: "How the service fulfils its contract, section by section",
  },
  prove: {
    group: "Guides",
    title: "Prove a draft",
    says: "For auditors: prove without this service who approved a mail before it left, and what no file can show",
  },
  mcp: {
    group: "Guides",
    title: "MCP",
    says: "Assistants that speak MCP: the tools, settings of its clients, ten minutes with MCP and REST side by side",
  },
  glossary: {
    group: "Guides",
    title: "Glossary",
    says: "The words of this project, one meaning each, and the folder that has the rule",
  },
  operations: { group: "Operate", title: "Overview", says: "Which page helps the person who runs the service" },
  install: {
    group: "Operate",
    title: "Install",
    says: "Requirements, Docker Compose, production, several instances, upgrade",
  },
  providers: {
    group: "Operate",
    title: "Providers",
    says: "Mail relay, SendGrid, domains and DNS, Slack, Telegram and Stripe, step by step",
  },
  incidents: {
    group: "Operate",
    title: "Incidents",
    says: "What to do when something is wrong; pause, backup and restore",
  },
  settings: { group: "Reference", title: "Settings", says: "Every setting with its default" },
  reference: {
    group: "Reference",
    title: "For operators",
    says: "Commands, health, metrics, alarms, limits, and what is kept",
  },
  "log-lines": { group: "Reference", title: "Log lines", says: "Every message of the log, and what to do about it" },
} as const satisfies Record<string, Page>;

const fileOf = (name: string): URL => new URL(import.meta.resolve(`#src/http/docs/${name}.md`));

export const documentText = (name: string): string => readFileSync(fileOf(name), "utf8");

/** Returns the table of src/mailKinds.md, whose rows a test tries on the running service. */
export const mailKindsTable = (): string =>
  readFileSync(new URL(import.meta.resolve("#src/mailKinds.md")), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .join("\n");

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
