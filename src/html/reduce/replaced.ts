const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Obsolete elements with their lossless replacement. */
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

/** Elements that are removed with their content: only some programs show it, or it is not content at all. */
export const goneWithContent = words(
  "head title style script link meta base basefont input textarea select option optgroup button datalist keygen progress meter iframe frame frameset object applet embed param svg math template audio video source track canvas noembed noframes xmp plaintext isindex command bgsound area",
);

/** Dropped elements that are never visible: the words around them stay joined. */
export const droppedInvisible = words(
  "head title style script link meta base basefont template param source track bgsound area",
);

/** Elements allowed in a head; any other ends it. */
export const headContent = words("title style script link meta base basefont bgsound noscript template command object");
