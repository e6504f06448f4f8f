import type { TObject } from "typebox";
import { pathTo, requireText } from "../body/parseJson.ts";
import { invalid } from "../errors.ts";

type Typed = { type?: string; format?: string };

/**
 * Reads the query string as typed values: flat, each parameter at most once, and only known ones (a mistyped filter must not return
 * everything). A value that does not match its type stays text, for the schema to refuse.
 */
export function readQuery(url: string, schema: TObject): Record<string, unknown> {
  const start = url.indexOf("?");
  const query: Record<string, unknown> = {};
  if (start === -1) return query;
  const properties = schema.properties as Record<string, Typed>;
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined) throw invalid(pathTo("", name), unknownOf(Object.keys(properties)));
    if (Object.hasOwn(query, name)) throw invalid(name, "expected this query parameter only once");
    requireText(value, name);
    query[name] = typed(value, property);
  }
  return query;
}

const unknownOf = (known: readonly string[]): string =>
  `unknown query parameter: expected ${known.length === 0 ? "none" : known.join(", ")}`;

const times = ["date-time", "date-or-time"];

function typed(value: string, { type, format = "" }: Typed): unknown {
  // A bare + in a query means a space; times contain no spaces, so +02:00 was meant.
  if (times.includes(format)) return value.replace(/ (?=\d\d:\d\d$)/, "+");
  if (type === "integer" && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  return value;
}
