/** Matches quotation marks, which some programs separate by blanks, and what follows them. */
const marks = /^>(?: ?>)*/;
const signatureLine = "-- ";

/**
 * Joins lines that a mail program has broken (RFC 3676): a line that ends in a blank continues in the next line of the same quotation
 * depth. A blank line ends a paragraph, and so does the line above a signature. `delSp`: true if the mail program added that blank.
 */
export function unflowed(text: string, { delSp }: { delSp: boolean }): string {
  const lines: string[] = [];
  /** Pieces of the current paragraph. */
  let pieces: string[] = [];
  let depth = 0;
  const end = (): void => {
    if (pieces.length > 0) lines.push(pieces.join(""));
    pieces = [];
  };
  for (const line of text.split(/\r?\n/)) {
    const quote = marks.exec(line)?.[0] ?? "";
    const rest = line.slice(quote.length);
    const content = rest.startsWith(" ") ? rest.slice(1) : rest;
    const ownDepth = quote.replaceAll(" ", "").length;
    const isSignature = content === signatureLine;
    if (ownDepth !== depth || isSignature || content === "") end();
    if (pieces.length === 0) {
      depth = ownDepth;
      pieces.push(quote === "" || content === "" ? quote : `${quote} `);
    }
    const flows = content.endsWith(" ") && !isSignature;
    pieces.push(flows && delSp ? content.slice(0, -1) : content);
    if (!flows) end();
  }
  end();
  return lines.join("\n");
}
