import { escaped } from "../html.ts";
import { keptElements, voidElements } from "../reduce/names.ts";
import { type LetterElement, type LetterPiece, pictureInWords, targetOf } from "./readLetter.ts";

/** `pictures`: `data:` URLs by sha256. `folded`: a quotation that a reader opens with one press, without script. */
export type PageOptions = { pictures?: ReadonlyMap<string, string>; folded?: LetterElement | undefined };

/**
 * Renders a letter as HTML for a frame of our pages. Nothing in it loads or links anywhere: a link becomes `<span class="link"
 * data-href="…">`, whose target the stylesheet writes out, a picture its alternative text. Invisible characters are made visible.
 */
export function pageHtml(letter: readonly LetterPiece[], options: PageOptions = {}): string {
  return letter.map((piece) => (typeof piece === "string" ? escaped(piece) : elementHtml(piece, options))).join("");
}

function elementHtml(element: LetterElement, options: PageOptions): string {
  const { name, pieces, attributes } = element;
  if (name === "img") return pictureHtml(element, options);
  const content = pageHtml(pieces, options);
  if (!keptElements.has(name)) return content;
  const shared = attributesHtml(attributes);
  if (name === "a") {
    return `<span class="link" data-href="${escaped(targetOf(element))}"${shared}>${content}</span>`;
  }
  if (voidElements.has(name)) return `<${name}${shared}>`;
  // Browsers skip a line break at the beginning of preformatted text.
  const written = `<${name}${shared}>${name === "pre" ? "\n" : ""}${content}</${name}>`;
  return element === options.folded ? `<details><summary>Show the quoted text</summary>${written}</details>` : written;
}

/**
 * Adds the picture below its alternative text, once on white and once on black: a picture can be transparent, and readers may have either
 * background.
 */
function pictureHtml(picture: LetterElement, { pictures }: PageOptions): string {
  const shared = attributesHtml(picture.attributes);
  const words = `<span class="image"${shared}>${escaped(pictureInWords(picture))}</span>`;
  const data = pictures?.get((picture.attributes.get("src") ?? "").replace(/^cid:/, ""));
  if (data === undefined) return words;
  return `${words}<br><img class="light" src="${escaped(data)}" alt=""> <img class="dark" src="${escaped(data)}" alt="">`;
}

const sharedNames = ["dir", "lang", "start", "colspan", "rowspan"];

const attributesHtml = (attributes: ReadonlyMap<string, string>): string =>
  sharedNames
    .filter((name) => attributes.has(name))
    .map((name) => ` ${name}="${escaped(attributes.get(name) ?? "")}"`)
    .join("");
