/** A Markdown table; `|` in cells is escaped. */
export const table = (head: readonly string[], lines: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.map(cell).join(" | ")} |`).join("\n");

const cell = (text: string): string => text.replaceAll("|", "\\|");

export const code = (text: string): string => `\`${text}\``;

export const codes = (texts: Iterable<string>): string => [...texts].map(code).join(", ");
