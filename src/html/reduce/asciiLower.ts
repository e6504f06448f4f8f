/** Letters A to Z in lower case, and no others: to HTML and CSS, a letter that only looks like K or becomes k is another one. */
export const asciiLower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
