import { asciiLower } from "./asciiLower.ts";
import type { Declaration } from "./declarations.ts";
import { blockElements, tableFrames, voidElements } from "./names.ts";

/** Elements that express the meaning of styles, the outermost first, and the declarations that they fully express. */
export type StyleMarks = { elements: string[]; said: ReadonlySet<Declaration> };

const lineOf = new Map([
  ["line-through", "s"],
  ["underline", "u"],
]);

/** Elements that browsers underline or strike through without any style. */
const ownLine = new Map([
  ["s", "line-through"],
  ["del", "line-through"],
  ["u", "underline"],
  ["ins", "underline"],
  ["a", "underline"],
]);

const heightOf = new Map([
  ["super", "sup"],
  ["sub", "sub"],
]);

/** Extracts from a style what changes the meaning of text: a line through it or under it, and raised or lowered text. */
export function marksOf(declarations: readonly Declaration[], element: string): StyleMarks {
  const elements: string[] = [];
  const said = new Set<Declaration>();
  const lines = holdsNoText(element) ? undefined : deciding(declarations, ["text-decoration", "text-decoration-line"]);
  if (lines) {
    const own = ownLine.get(element);
    const wanted = asciiLower(lines.value).split(/\s+/);
    for (const [line, mark] of lineOf) if (line !== own && wanted.includes(line)) elements.push(mark);
    const isOwnKept = own === undefined || wanted.includes(own);
    if (isOwnKept && wanted.every((line) => lineOf.has(line))) said.add(lines);
  }
  const height = isWithinLine(element) ? deciding(declarations, ["vertical-align"]) : undefined;
  const mark = height && heightOf.get(asciiLower(height.value));
  if (height && mark !== undefined && (mark === element || !heights.has(element))) {
    if (mark !== element) elements.push(mark);
    said.add(height);
  }
  return { elements, said };
}

const heights = new Set(heightOf.values());

/** True for elements in which only other elements hold text. */
const holdsNoText = (element: string): boolean =>
  tableFrames.has(element) || voidElements.has(element) || ["ul", "ol", "dl"].includes(element);

const isWithinLine = (element: string): boolean => !blockElements.has(element) && !voidElements.has(element);

/** Returns the effective declaration: the last important one, or the last. */
function deciding(declarations: readonly Declaration[], properties: string[]): Declaration | undefined {
  const all = declarations.filter(({ property }) => properties.includes(property));
  return all.findLast(({ important }) => important) ?? all.at(-1);
}
