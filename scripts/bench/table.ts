import type { Row } from "./bench.ts";

type Figure = Exclude<keyof Row, "what">;

/** The columns of the table: CPU times and times in milliseconds. */
const columns: readonly [Figure, string][] = [
  ["perSecond", "per second"],
  ["p50", "p50, ms"],
  ["p99", "p99, ms"],
  ["node", "Node, CPU ms"],
  ["postgres", "PostgreSQL, CPU ms"],
  ["events", "events"],
  ["statements", "statements"],
  ["writes", "writing transactions"],
  ["megabytes", "Node, MB"],
];

/** Computes the median of each figure over several rounds, row by row. */
export function mediansOf(rounds: readonly Row[][]): Row[] {
  return rounds[0]!.map((row, at) => {
    const median = (name: Figure): [Figure, number][] => {
      const values = rounds.flatMap((rows) => rows[at]?.[name] ?? []).sort((a, b) => a - b);
      const middle = (values.length - 1) / 2;
      if (values.length === 0) return [];
      return [[name, (values[Math.floor(middle)]! + values[Math.ceil(middle)]!) / 2]];
    };
    return { ...row, ...Object.fromEntries(columns.flatMap(([name]) => median(name))) };
  });
}

/** Divides each figure of a row by that of another one. */
export function ratioOf(row: Row, other: Row): Row {
  const ratios = columns.flatMap(([name]) => (other[name] ? [[name, (row[name] ?? 0) / other[name]]] : []));
  return { ...Object.fromEntries(ratios), what: "  ratio" };
}

/** Formats a Markdown table with aligned columns. */
export function tableOf(rows: readonly Row[]): string {
  const head = ["unit", ...columns.map(([, title]) => title)];
  const cells = rows.map((row) => [row.what, ...columns.map(([name]) => figure(row[name]))]);
  const widths = head.map((title, column) => Math.max(title.length, ...cells.map((line) => line[column]!.length)));
  const line = (texts: readonly string[]): string =>
    `| ${texts.map((text, column) => (column === 0 ? text.padEnd(widths[0]!) : text.padStart(widths[column]!))).join(" | ")} |`;
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(head), line(rule), ...cells.map(line)].join("\n");
}

/** Formats a number with three significant digits. */
function figure(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "";
  return value >= 100 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(3)).toString();
}
