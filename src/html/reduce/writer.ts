import { maxReducedBytes, voidElements } from "./names.ts";
import type { Attribute } from "./tokens.ts";

/** The reduced form would exceed the size limit. */
export class TooLarge extends Error {}

/** Matches a tag in the form of a reduced body: lower case, attributes in double quotes. */
const written = /^<[a-z][a-z0-9]*(?:[ \t\n\f\r]+[a-z]+="[^"<]*")*[ \t\n\f\r]*(\/?)>$/;

export type Opening = {
  name: string;
  block: boolean;
  attributes: readonly Attribute[];
  /** The original tag, if it needs no change. */
  source: string | undefined;
};

/** Writes the reduced form. Words stay separate if something between them was removed. */
export class Writer {
  readonly #parts: string[] = [];
  #length = 0;
  /** Text was written last, followed by markup that left nothing. */
  #seam = false;
  #lastText: { reference: boolean } | undefined;
  /** Text or a picture is directly before this place. */
  #inline = false;
  #endsBlank = true;
  #apart: "" | "line" | "blank" = "";

  get empty(): boolean {
    return this.#parts.length === 0;
  }

  /** Begins a kept element. */
  open({ name, block, attributes, source }: Opening): void {
    if (block || name === "br") this.#boundaryKept();
    else this.#separate("");
    const [whole, slash] = (source !== undefined && written.exec(source)) || [];
    if (whole !== undefined && (slash === "" || voidElements.has(name))) this.#push(whole);
    else this.#push(`<${name}${attributes.map((one) => ` ${one.name}="${quoted(one.value)}"`).join("")}>`);
    this.#lastText = undefined;
    if (name === "img") this.#shown(false);
  }

  close(name: string, block: boolean): void {
    if (block) this.#boundaryKept();
    this.#push(`</${name}>`);
    this.#lastText = undefined;
  }

  /** `source`: original form, `text`: decoded. */
  text(source: string, text: string, reference: boolean): void {
    const blank = /^[ \t\n\f\r]*$/.test(text);
    if (!blank) this.#separate(text);
    this.#mendSeam();
    this.#push(source.replace(/</g, "&lt;"));
    this.#lastText = { reference };
    if (blank) this.#endsBlank = true;
    else this.#shown(/[ \t\n\f\r]$/.test(text));
  }

  /** Something on its own line was removed. */
  line(): void {
    this.#seam = true;
    if (this.#inline) this.#apart = "line";
  }

  /** Something within a line was removed. */
  blank(): void {
    this.#seam = true;
    if (this.#inline && this.#apart === "") this.#apart = "blank";
  }

  /** Invisible markup was removed. */
  nothing(): void {
    this.#seam = true;
  }

  toString(): string {
    const html = this.#parts.join("");
    if (Buffer.byteLength(html) > maxReducedBytes) throw new TooLarge();
    return html;
  }

  #boundaryKept(): void {
    this.#inline = false;
    this.#endsBlank = true;
    this.#apart = "";
  }

  #shown(endsBlank: boolean): void {
    this.#inline = true;
    this.#endsBlank = endsBlank;
  }

  #separate(text: string): void {
    const apart = this.#apart;
    this.#apart = "";
    if (apart === "line") {
      this.#push("<br>");
      this.#lastText = undefined;
      this.#boundaryKept();
    } else if (apart === "blank" && !this.#endsBlank && !/^[ \t\n\f\r]/.test(text)) {
      this.#mendSeam();
      this.#push(" ");
      this.#lastText = { reference: false };
      this.#endsBlank = true;
    }
  }

  /** Prevents two adjacent texts from forming a reference (`&` and `lt;`) that neither of them contained. */
  #mendSeam(): void {
    const last = this.#parts.length - 1;
    if (this.#seam && this.#lastText) {
      const part = this.#parts[last] as string;
      if (!this.#lastText.reference) this.#parts[last] = part.replace(/&(?=[#\w]*$)/, "&amp;");
      else if (part !== "" && !part.endsWith(";")) this.#parts[last] = `${part};`;
    }
    this.#seam = false;
  }

  #push(part: string): void {
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#length > maxReducedBytes) throw new TooLarge();
  }
}

/** Escapes text for an element. */
export const textSource = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

const quoted = (value: string): string => textSource(value).replace(/"/g, "&quot;");
