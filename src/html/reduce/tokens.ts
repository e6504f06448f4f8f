import { Tokenizer } from "htmlparser2";
import { asciiLower } from "./asciiLower.ts";

export type Attribute = { name: string; value: string };

/** `name` and the attributes' names are in lower case, values decoded; `source` is the original tag. */
export type OpenTag = { name: string; attributes: Attribute[]; source: string };

/** Receives the tokens of a body in order. */
export type TokenHandler = {
  open(tag: OpenTag): void;
  close(name: string): void;
  /** `text`: the decoded text. `reference`: it is one character reference (`&nbsp;`). */
  text(source: string, text: string, reference: boolean): void;
  /** Comments, conditional comments, CDATA and processing instructions. `text`: their content. */
  comment(text: string): void;
  doctype(): void;
};

/** Splits HTML into tags and text as browsers do, without building a tree. Linear in its length. */
export function readTokens(html: string, handler: TokenHandler): void {
  /** End of the last token. */
  let at = 0;
  let tag: OpenTag = { name: "", attributes: [], source: "" };
  let tagStart = 0;
  let attribute: Attribute = { name: "", value: "" };
  const endOfTag = (end: number): void => {
    at = end + 1;
    handler.open({ ...tag, source: html.slice(tagStart, at) });
  };
  const endOfComment = (start: number, end: number): void => {
    at = end + 1;
    handler.comment(html.slice(start, end));
  };
  const tokenizer = new Tokenizer(
    {},
    {
      onopentagname(start, end) {
        tagStart = start - 1;
        tag = { name: asciiLower(html.slice(start, end)), attributes: [], source: "" };
      },
      onattribname(start, end) {
        attribute = { name: asciiLower(html.slice(start, end)), value: "" };
      },
      onattribdata(start, end) {
        attribute.value += html.slice(start, end);
      },
      onattribentity(codePoint) {
        attribute.value += String.fromCodePoint(codePoint);
      },
      onattribend() {
        tag.attributes.push(attribute);
      },
      onopentagend: endOfTag,
      onselfclosingtag: endOfTag,
      onclosetag(start, end) {
        at = end + 1;
        handler.close(asciiLower(html.slice(start, end)));
      },
      ontext(start, end) {
        at = end;
        const source = html.slice(start, end);
        if (source) handler.text(source, source, false);
      },
      ontextentity(codePoint, end) {
        // Some character references decode to two characters: the second character has no separate source.
        const source = end === at ? "" : html.slice(html.lastIndexOf("&", end - 1), end);
        at = end;
        handler.text(source, String.fromCodePoint(codePoint), true);
      },
      oncomment: endOfComment,
      oncdata: endOfComment,
      onprocessinginstruction: endOfComment,
      ondeclaration(_start, end) {
        at = end + 1;
        handler.doctype();
      },
      onend() {},
    },
  );
  tokenizer.write(html);
  tokenizer.end();
}
