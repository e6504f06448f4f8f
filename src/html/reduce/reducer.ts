import { normaliseAttributes } from "./attributes.ts";
import type { Backgrounds } from "./backgrounds.ts";
import { isReadableSize } from "./lengths.ts";
import { judgeLink } from "./links.ts";
import { blockElements, keptElements, tableFrames, voidElements } from "./names.ts";
import { type OpenElement, OpenElements } from "./openElements.ts";
import { cellStyleOf } from "./presentation.ts";
import type { PictureOf, Reduced } from "./reduced.ts";
import { RemovalTally } from "./removed.ts";
import { droppedInvisible, goneWithContent, headContent, newNames } from "./replaced.ts";
import { type PlacedLook, plainLookOn } from "./styles.ts";
import type { Attribute, OpenTag, TokenHandler } from "./tokens.ts";
import { hasVisibleText, isDrawn } from "./visibleText.ts";
import { textSource, Writer } from "./writer.ts";

/** Parses, judges and writes in one pass. Keeps nothing of the input except the places where colours change. */
export class Reducer implements TokenHandler {
  readonly #pictureOf: PictureOf;
  readonly #grounds: Backgrounds;
  readonly #bare: boolean;
  readonly #plainLook: PlacedLook;
  readonly #tally = new RemovalTally();
  readonly #writer = new Writer();
  readonly #open = new OpenElements(this.#writer);
  readonly #pictures = new Set<string>();
  #readable = false;
  /** A document's head was read but nothing of its body: blanks are not content yet. */
  #prologue = false;
  #bodySeen = false;
  /** `dir` and `lang` of the html element, which its body inherits. */
  #ofDocument: Attribute[] = [];

  /** `bare`: without any style, and with few attributes. */
  constructor(pictureOf: PictureOf, grounds: Backgrounds, bare: boolean) {
    this.#bare = bare;
    this.#pictureOf = pictureOf;
    this.#grounds = grounds;
    this.#plainLook = plainLookOn(grounds.page);
  }

  open(tag: OpenTag): void {
    this.#writer.nothing();
    const name = newNames.get(tag.name) ?? tag.name;
    if (this.#open.dropping) {
      if (this.#open.top?.name !== "head" || headContent.has(tag.name)) {
        if (!voidElements.has(tag.name)) this.#push({ name: tag.name, drops: true });
        return;
      }
      this.#open.close("head");
    }
    if (tag.name === "html") this.#startDocument(tag);
    else if (tag.name === "body" && this.#bodySeen) return;
    else if (goneWithContent.has(tag.name)) this.#drop(tag.name);
    else if (!keptElements.has(name)) this.#unwrap(tag.name);
    else if (name === "img") this.#picture(tag);
    else if (name === "a" && !this.#isLink(tag)) this.#push({ name: tag.name });
    else this.#place(tag, name);
  }

  close(name: string): void {
    this.#writer.nothing();
    if (name === "html" || name === "body") return;
    if (name === "br" && !this.#open.dropping) this.open({ name, attributes: [], source: "" });
    else if (!this.#open.close(name) && name === "p" && !this.#open.dropping) this.#writer.line();
  }

  text(source: string, text: string, reference: boolean): void {
    const blank = /^[ \t\n\f\r]*$/.test(text);
    if (this.#open.dropping) {
      if (blank || this.#open.top?.name !== "head") return;
      this.#open.close("head");
    }
    if (blank && this.#prologue && this.#writer.empty) return;
    if (!blank) this.#begin(this.#open.makeRoomForText());
    else if (reference && tableFrames.has(this.#open.around?.out ?? "")) return;
    this.#writer.text(source, text, reference);
    this.#readable ||= hasVisibleText(text);
    this.#look.place.shows ||= isDrawn(text);
  }

  comment(): void {
    this.#writer.nothing();
    if (!this.#open.dropping) this.#tally.comment();
  }

  doctype(): void {
    this.#writer.nothing();
    this.#prologue = true;
  }

  end(): Reduced {
    this.#open.shrink(0);
    return {
      html: this.#writer.toString(),
      removed: this.#tally.sorted(),
      readable: this.#readable,
      pictures: [...this.#pictures],
    };
  }

  #startDocument(tag: OpenTag): void {
    this.#prologue = true;
    this.#ofDocument = tag.attributes.filter(
      ({ name, value }) =>
        (name === "dir" && /^(?:ltr|rtl)$/.test(value)) || (name === "lang" && /^[A-Za-z0-9-]{1,35}$/.test(value)),
    );
  }

  #drop(name: string): void {
    this.#tally.element(name);
    if (name === "head") this.#prologue = true;
    if (!droppedInvisible.has(name)) this.#writer.blank();
    if (!voidElements.has(name)) this.#push({ name, drops: true });
  }

  #unwrap(name: string): void {
    this.#tally.element(name);
    if (blockElements.has(name)) this.#writer.line();
    if (!voidElements.has(name)) this.#push({ name });
  }

  #isLink(tag: OpenTag): boolean {
    const href = tag.attributes.find(({ name }) => name === "href")?.value;
    const judged = href === undefined ? undefined : judgeLink(href);
    if (judged?.kept && !this.#open.has("a")) return true;
    if (judged === undefined || judged.kept) this.#tally.element("a");
    else this.#tally.link(judged.scheme);
    return false;
  }

  #picture(tag: OpenTag): void {
    const source = tag.attributes.find(({ name }) => name === "src")?.value ?? "";
    const alt = tag.attributes.find(({ name }) => name === "alt")?.value ?? "";
    const sha256 = source === "" ? undefined : this.#pictureOf(source);
    this.#readable ||= hasVisibleText(alt);
    if (sha256 !== undefined && /^[0-9a-f]{64}$/.test(sha256)) {
      this.#begin(this.#open.makeRoom("img") ?? []);
      this.#pictures.add(sha256);
      const cid = `cid:${sha256}`;
      const attributes = tag.attributes.map((one) => (one.name === "src" ? { ...one, value: cid } : one));
      const look = this.#keep(source === cid ? tag : { ...tag, attributes, source: "" }, "img");
      look.place.shows ||= isDrawn(alt);
    } else this.#dropPicture(source, alt);
  }

  /** Removes a picture and keeps its alternative text as text. */
  #dropPicture(source: string, alt: string): void {
    if (/^\s*(?:cid|data|blob|file|about):/i.test(source) || source.trim() === "") this.#tally.element("img");
    else this.#tally.remoteImage();
    this.#writer.blank();
    if (alt.trim() === "") return;
    this.#begin(this.#open.makeRoomForText());
    this.#writer.text(textSource(alt), alt, false);
    this.#look.place.shows ||= isDrawn(alt);
    this.#writer.blank();
  }

  #place(tag: OpenTag, name: string): void {
    const implied = this.#open.makeRoom(name);
    if (implied === null) this.#unwrap(tag.name);
    else {
      this.#begin(implied);
      this.#keep(tag, name);
    }
  }

  /** Writes an element. Returns the look of its content. */
  #keep(tag: OpenTag, named: string): PlacedLook {
    const inherited = tag.name === "body" ? this.#ofDocument : [];
    if (tag.name === "body") this.#bodySeen = true;
    const cells = this.#open.cellStyle;
    const around = { look: this.#look, grounds: this.#grounds, cells, inherited, bare: this.#bare };
    const dressed = normaliseAttributes({ tag, named }, around, this.#tally);
    const { name } = dressed;
    if (shrinking.has(name) && !isReadableSize(Math.min(dressed.look.fontSize, 16))) {
      this.#unwrap(tag.name);
      return this.#look;
    }
    const source = dressed.asWritten && tag.name === name && isPlainlySpelled(tag.source) ? tag.source : undefined;
    this.#writer.open({ name, block: blockElements.has(name), attributes: dressed.attributes, source });
    if (!voidElements.has(name)) {
      const cells = name === "table" ? cellStyleOf(tag.attributes) : null;
      this.#push({ name: tag.name, out: name, look: dressed.look, cells });
    }
    this.#begin(dressed.marks);
    return dressed.look;
  }

  /** Opens the elements that are needed before text or another element. */
  #begin(names: readonly string[]): void {
    for (const name of names) this.#keep({ name, attributes: [], source: `<${name}>` }, name);
  }

  get #look(): PlacedLook {
    return this.#open.top?.look ?? this.#plainLook;
  }

  /** Opens an element that is not written but keeps its content, unless overridden. */
  #push({
    name,
    out = null,
    drops = false,
    look = this.#look,
    cells = null,
  }: Pick<OpenElement, "name"> & Partial<OpenElement>): void {
    this.#open.push({ name, out, drops, look, cells });
  }
}

/** Elements that make text smaller. */
const shrinking = new Set(["small", "sub", "sup", "h5", "h6", "pre", "code", "kbd"]);

/** True if the source is spelled without references that a simple reader does not know (`https&colon;`). */
const isPlainlySpelled = (source: string): boolean =>
  !/&(?!(?:amp|lt|gt|quot);)[a-z][a-z0-9]*;/i.test(source.replace(/ alt="[^"]*"/, ""));
