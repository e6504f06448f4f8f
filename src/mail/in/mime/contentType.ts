/** A field such as `text/plain; charset=utf-8`: its value in lower case, its parameters by their lower-case names. */
export type Structured = { value: string; parameters: ReadonlyMap<string, string> };

const maxLength = 8 * 1024;
const parameter = /;\s*([^\s=;"]{1,80})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;"]*))/g;

/** Reads a structured field. The first of several parameters of one name counts. */
export function readStructured(field: string): Structured {
  const text = field.slice(0, maxLength);
  const parameters = new Map<string, string>();
  for (const [, name = "", quoted, bare = ""] of text.matchAll(parameter)) {
    const key = name.toLowerCase();
    const value = quoted === undefined ? bare.trim() : quoted.replace(/\\(.)/g, "$1");
    if (!parameters.has(key)) parameters.set(key, value);
  }
  const [value = ""] = text.split(/[;\s(]/, 1);
  return { value: value.toLowerCase(), parameters };
}
