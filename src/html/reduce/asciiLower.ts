/**
 * Converts only A to Z to lower case: for HTML and CSS, other letters that look like K or whose lower case is k are different letters.
 */
export const asciiLower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
