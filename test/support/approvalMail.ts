/**
 * True if this text of an approval mail has links and shows these words as its own draft. Words of other drafts that answer the same
 * message stand in quotation marks and do not count.
 */
export const isAskedAbout = (text: string, words: string): boolean =>
  text.includes("/a/") && text.replace(/“[^”]*”/g, "").includes(words);
