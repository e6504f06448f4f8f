/** A row of a table of text; `note` is shown below it. */
export type TextRow = { columns: readonly string[]; note?: string };

/** Prints rows as aligned columns, without lines, so that they fit into a narrow terminal. All columns but the first are numbers. */
export function printTable(rows: readonly TextRow[]): void {
  const width = (index: number): number => Math.max(...rows.map(({ columns }) => columns[index]?.length ?? 0));
  for (const { columns, note } of rows) {
    const cells = columns.map((text, index) => (index === 0 ? text.padEnd(width(0)) : text.padStart(width(index))));
    console.log(cells.join("  ").trimEnd());
    if (note !== undefined) console.log(`  ${note}`);
  }
}
