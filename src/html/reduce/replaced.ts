const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Old elements, and the one that shows the same. Nothing is lost by it. */
export const newNames: ReadonlyMap<string, string> = new Map([
  ["strike", "s"],
  ["tt", "code"],
  ["center", "div"],
  ["font", "span"],
  ["body", "div"],
  ["menu", "ul"],
  ["dir", "ul"],
  ["listing", "pre"],
  ["image", "img"],
]);

/** Elements whose content goes with them: some programs show it and others do not, or it is no content at all. */
export const goneWithContent = words(
  "head title style script link meta base basefont input textarea select option optgroup button datalist keygen progress meter iframe frame frameset object applet embed param svg math template audio video source track canvas noembed noframes xmp plaintext isindex command bgsound area",
);

/** Of those, what nobody would have seen: words around it stay together. */
export const goneUnseen = words(
  "head title style script link meta base basefont template param source track bgsound area",
);

/** What may be in a head; anything else ends it. */
export const headContent = words("title style script link meta base basefont bgsound noscript template command object");
