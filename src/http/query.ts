import type { TObject } from "typebox";
import { requireText } from "./body.ts";
import { invalid } from "./errors.ts";

type Typed = { type?: string };

/**
 * The query string as typed values: flat, each parameter at most once, none that the route does not know (a mistyped filter must
 * not return everything: decisions 0). What does not look like its type is left as text, for the schema to refuse.
 */
export function readQuery(url: string, schema: TObject): Record<string, unknown> {
  const start = url.indexOf("?");
  const query: Record<string, unknown> = {};
  if (start === -1) return query;
  const properties = schema.properties as Record<string, Typed>;
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    const shown = JSON.stringify(name.slice(0, 64));
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined) throw invalid("", `unknown query parameter ${shown}`);
    if (Object.hasOwn(query, name)) throw invalid(name, "expected this query parameter once");
    requireText(value, name);
    query[name] = typed(value, property);
  }
  return query;
}

function typed(value: string, { type }: Typed): unknown {
  if (type === "integer" && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  return value;
}
