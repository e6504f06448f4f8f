const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Elements that a reduced body may have. All their meaning is in their text, or in `alt`. */
export const keptElements = words(
  "p div span br hr h1 h2 h3 h4 h5 h6 blockquote pre code kbd q ul ol li dl dt dd table caption colgroup col thead tbody tfoot tr th td a b strong i em u s sub sup small del ins mark img",
);

/** Elements without content and end tag. */
export const voidElements = words(
  "area base basefont bgsound br col command embed frame hr image img input isindex keygen link meta param source track wbr",
);

/** Elements that start a new line, or a cell. */
export const blockElements = words(
  "p div hr h1 h2 h3 h4 h5 h6 blockquote pre ul ol li dl dt dd table caption colgroup col thead tbody tfoot tr th td address article aside body center details dialog dir fieldset figcaption figure footer form header hgroup html legend listing main menu nav search section summary",
);

export const headings = words("h1 h2 h3 h4 h5 h6");

/** Elements that may be within a table but outside its cells. */
export const tableParts = words("caption colgroup col thead tbody tfoot tr th td");

/** Elements with only blanks between their own parts: programs disagree about where other content goes. */
export const tableFrames = words("table colgroup thead tbody tfoot tr");

/** Elements whose content is separate from what is around the table. */
export const cells = words("td th caption");

/** Attributes of a kept element, besides `dir`, `lang` and `style`. */
export const keptAttributes: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["a", words("href")],
  ["img", words("src alt")],
  ["td", words("colspan rowspan")],
  ["th", words("colspan rowspan")],
  ["ol", words("start")],
]);

export const globalAttributes = words("dir lang style");

/** Style properties that a reduced body may have, each within limits: none of them carries meaning, and none joins or splits words. */
export const keptProperties = words(
  "color background background-color font-family font-size font-weight font-style line-height text-align vertical-align width height max-width margin margin-top margin-right margin-bottom margin-left padding padding-top padding-right padding-bottom padding-left border border-top border-right border-bottom border-left border-collapse border-radius",
);

/**
 * True if such an element may have the property. Around text within a line, a box would split words or cover the line above. Padding at
 * the side of a list moves its markers out of sight. A column shows its width and nothing else.
 */
export function mayHave(element: string, property: string): boolean {
  if (!keptProperties.has(property)) return false;
  if (element === "col" || element === "colgroup") return property === "width";
  if (property === "vertical-align") return aligned.has(element);
  if (
    /^(?:margin|padding|border)(?:-(?!collapse|radius)|$)/.test(property) &&
    !blockElements.has(element) &&
    element !== "img"
  )
    return false;
  return !((element === "ul" || element === "ol") && /^padding(?:-left|-right)?$/.test(property));
}

const aligned = words("td th tr img");

/** Elements that may have a height: in others, text would overlap what follows it. */
export const withHeight = words("table tr td th img hr");

/**
 * Maximum number of characters of one style declaration. A longer declaration is removed, because honest ones are short and patterns are
 * slow on long text.
 */
export const maxDeclaration = 1024;

/** Deepest nesting; a deeper body is refused. */
export const maxDepth = 100;

/** Maximum number of bytes of a reduced body; a larger body is refused. */
export const maxReducedBytes = 512 * 1024;
