/**
 * JSON as a terminal may be shown it: control characters, invisible ones and those that turn the order of letters are written as escapes, wherever
 * tenants and strangers have written them. Every parser reads the same from it.
 */
export const terminalJson = (value: unknown, space?: number): string =>
  JSON.stringify(value, null, space).replace(/[^\P{C}\n]|[\u2028\u2029]/gu, escaped);

const escaped = (character: string): string =>
  [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
    .join("");
