import type { Row } from "./bench.ts";

type Figure = Exclude<keyof Row, "what" | "parts">;

/** The columns of the table: CPU times and times in milliseconds. */
const columns: readonly [Figure, string][] = [
  ["perSecond", "per second"],
  ["p50", "p50, ms"],
  ["p99", "p99, ms"],
  ["node", "Node, CPU ms"],
  ["postgres", "PostgreSQL, CPU ms"],
  ["events", "events"],
  ["bytes", "event bytes"],
  ["statements", "statements"],
  ["writes", "writing transactions"],
  ["megabytes", "Node, MB"],
];

/** Computes a figure of each row from several rounds: its median, or with `share` 0 the least and with 1 the most. */
export function figuresOf(rounds: readonly Row[][], share = 0.5): Row[] {
  const chosen = (values: number[]): number => {
    const sorted = values.sort((a, b) => a - b);
    const place = (sorted.length - 1) * share;
    return (sorted[Math.floor(place)]! + sorted[Math.ceil(place)]!) / 2;
  };
  return rounds[0]!.map((row, at) => {
    const figures = columns.flatMap(([name]) => {
      const values = rounds.flatMap((rows) => rows[at]?.[name] ?? []);
      return values.length === 0 ? [] : [[name, chosen(values)]];
    });
    const names = new Set(rounds.flatMap((rows) => Object.keys(rows[at]?.parts ?? {})));
    const parts = [...names].map((name) => [name, chosen(rounds.map((rows) => rows[at]?.parts?.[name] ?? 0))]);
    return { ...row, ...Object.fromEntries(figures), parts: Object.fromEntries(parts) };
  });
}

/** Number of a part for each unit below which a difference is chance: timers and polls that a round had more of. */
const worthShowing = 0.05;

/** Lists the parts that two rows differ by, as Markdown: the largest differences of events, bytes and statements first. */
export function differencesOf({ what, parts = {} }: Row, { parts: others = {} }: Row): string {
  const names = [...new Set([...Object.keys(parts), ...Object.keys(others)])];
  const differences = names
    .map((name) => ({ name, by: (parts[name] ?? 0) - (others[name] ?? 0) }))
    .filter(({ by }) => Math.abs(by) >= worthShowing)
    .sort((a, b) => kindOf(a.name).localeCompare(kindOf(b.name)) || b.by - a.by);
  const lines = differences.map(({ name, by }) => `- ${by > 0 ? "+" : ""}${figure(by)} ${name.slice(0, 200)}`);
  return [`${what}:`, "", ...lines].join("\n");
}

const kindOf = (part: string): string => part.split(" ")[0]!;

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
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(3)).toString();
}
