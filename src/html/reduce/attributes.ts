import { asciiLower } from "./asciiLower.ts";
import type { Backgrounds } from "./backgrounds.ts";
import { readDeclarations } from "./declarations.ts";
import { marksOf } from "./marks.ts";
import { globalAttributes, keptAttributes } from "./names.ts";
import { type CellStyle, meaningsOf, meaningsOfTable } from "./presentation.ts";
import type { RemovalTally } from "./removed.ts";
import { judgeStyles, type PlacedLook, type Styling } from "./styles.ts";
import type { Attribute, OpenTag } from "./tokens.ts";

/**
 * An element's name and the attributes it keeps, in order. `marks`: elements inserted inside it for the meaning of its style.
 * `asWritten`: nothing was removed, added or changed.
 */
export type KeptElement = {
  name: string;
  attributes: Attribute[];
  marks: string[];
  asWritten: boolean;
  look: PlacedLook;
};

/**
 * Surroundings of an element: the look of text, and for a cell the styles from its table. `inherited`: attributes of an element that was
 * removed. `bare`: no styles stay, and only those attributes without which words would be lost or moved.
 */
export type ElementContext = {
  look: PlacedLook;
  grounds: Backgrounds;
  cells: CellStyle | null;
  inherited: Attribute[];
  bare: boolean;
};

/**
 * Keeps an element's attributes that carry no meaning; presentational ones become styles, and meaningful styles become elements. `named`:
 * the element's new name.
 */
export function normaliseAttributes(
  { tag, named }: { tag: OpenTag; named: string },
  around: ElementContext,
  tally: RemovalTally,
): KeptElement {
  const unique = firstOfEach(tag.attributes, tally);
  const own = readDeclarations(unique.find((attribute) => attribute.name === "style")?.value ?? "");
  const { elements, said } = marksOf(own, named);
  const [name = named, ...marks] = named === "span" ? elements : [named, ...elements];
  if (around.bare) return { ...undressed({ attributes: unique, name }, around, tally), name, marks };
  const meanings = [
    ...(around.cells && (name === "td" || name === "th") ? meaningsOfTable(around.cells) : []),
    ...meaningsOf(tag.name, unique),
  ];
  const made = meanings.filter(({ property }) => property !== "").map(styling);
  const dressing = own.filter((declaration) => !said.has(declaration));
  const judged = judgeStyles([...made, ...dressing], name, { ...around, isInTable: around.cells !== null });
  countGone(judged.gone, judged.kept, tally);

  const meant = new Set(meanings.map(({ from }) => from));
  const style = styleText(unique, own, judged.kept);
  const kept = unique.flatMap((attribute): Attribute[] => {
    if (attribute.name === "style") return [];
    if (isKept(name, attribute) && !mayLieOnOthers(attribute, around.cells)) return [attribute];
    const mended = mend(attribute);
    if (mended) return [mended];
    if (!meant.has(attribute.name)) tally.attribute(attribute.name);
    return [];
  });
  if (around.cells && kept.some(spans("rowspan"))) around.cells.spansRows = true;
  const inherited = around.inherited.filter((attribute) => !kept.some((other) => other.name === attribute.name));
  const attributes = [...kept, ...inherited];
  const styleAt = unique.findIndex((attribute) => attribute.name === "style");
  if (style !== null) attributes.splice(styleAt < 0 ? attributes.length : countBefore(unique, kept, styleAt), 0, style);
  return { name, attributes, marks, asWritten: isSame(attributes, tag.attributes), look: judged.look };
}

const spans =
  (name: string) =>
  (attribute: Attribute): boolean =>
    attribute.name === name && attribute.value !== "1";

/** True for a cell over several columns, which would cover one above it that spans down into its row. */
const mayLieOnOthers = (attribute: Attribute, cells: CellStyle | null): boolean =>
  cells?.spansRows === true && spans("colspan")(attribute);

/** Like `normaliseAttributes`, without any style. The tag is always rewritten. */
function undressed(
  { attributes, name }: { attributes: readonly Attribute[]; name: string },
  around: ElementContext,
  tally: RemovalTally,
): Pick<KeptElement, "attributes" | "asWritten" | "look"> {
  const kept = attributes.filter((attribute) => {
    const stays = essential.has(attribute.name) && isKept(name, attribute);
    if (!stays) tally.attribute(attribute.name);
    return stays;
  });
  const added = around.inherited.filter(
    (one) => essential.has(one.name) && !kept.some((other) => other.name === one.name),
  );
  return {
    attributes: [...kept, ...added],
    asWritten: false,
    look: judgeStyles([], name, { ...around, isInTable: false }).look,
  };
}

const essential = new Set(["href", "src", "alt", "dir", "colspan"]);

/** Keeps the first of several attributes with the same name. Programs disagree about which one counts; browsers use the first. */
function firstOfEach(attributes: readonly Attribute[], tally: RemovalTally): Attribute[] {
  const names = new Set<string>();
  return attributes.filter(({ name }) => {
    if (names.has(name)) tally.attribute(name);
    else return names.add(name);
    return false;
  });
}

const styling = ({ property, value, from }: { property: string; value: string; from: string }): Styling => ({
  property,
  value,
  important: false,
  source: `${property}:${value}`,
  from,
});

/** Counts removed styles. An attribute whose meaning a style overrides is not counted: only the style had an effect before, too. */
function countGone(gone: readonly Styling[], kept: readonly Styling[], tally: RemovalTally): void {
  const said = new Set(kept.map(({ property }) => groupOf(property)));
  const named = new Set<string>();
  for (const { property, from } of gone) {
    if (from === undefined) tally.style(property);
    else if (from !== "" && !said.has(groupOf(property)) && !named.has(from)) {
      named.add(from);
      tally.attribute(from);
    }
  }
}

const groupOf = (property: string): string => (property === "background" ? "background-color" : property);

/** Returns the style attribute unchanged if all of it stays; otherwise built from the rest; null if nothing stays. */
function styleText(
  attributes: readonly Attribute[],
  own: readonly Styling[],
  kept: readonly Styling[],
): Attribute | null {
  if (kept.length === 0) return null;
  const written = attributes.find(({ name }) => name === "style");
  const same = kept.length === own.length && kept.every((one, index) => one === own[index] && !one.important);
  if (written && same) return written;
  const text = kept.map((one) => (one.important ? `${one.property}:${one.value}` : one.source.trim()));
  return { name: "style", value: text.join(";") };
}

function isKept(element: string, { name, value }: Attribute): boolean {
  if (globalAttributes.has(name)) return (name === "dir" ? direction : language).test(value);
  if (!keptAttributes.get(element)?.has(name)) return false;
  if (name === "colspan" || name === "rowspan") return /^[1-9]\d?$/.test(value);
  if (name === "start") return /^-?\d{1,6}$/.test(value);
  return true;
}

const direction = /^(?:ltr|rtl|auto)$/;
const language = /^[A-Za-z0-9-]{0,35}$/;

/** Lower-cases the value of `dir`. */
function mend({ name, value }: Attribute): Attribute | undefined {
  const text = asciiLower(value.trim());
  return name === "dir" && direction.test(text) ? { name, value: text } : undefined;
}

const countBefore = (all: readonly Attribute[], kept: readonly Attribute[], at: number): number =>
  all.slice(0, at).filter((attribute) => kept.some((one) => one.name === attribute.name)).length;

const isSame = (a: readonly Attribute[], b: readonly Attribute[]): boolean =>
  a.length === b.length && a.every((one, index) => one === b[index]);
