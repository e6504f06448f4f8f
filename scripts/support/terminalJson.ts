/**
 * Formats JSON that is safe on a terminal: control characters, invisible ones and those that reorder letters become escapes, wherever
 * tenants and strangers have written them. Every parser reads the same value.
 */
export const terminalJson = (value: unknown, space?: number): string =>
  JSON.stringify(value, null, space).replace(/[^\P{C}\n]|[\u2028\u2029]/gu, escaped);

const escaped = (character: string): string =>
  [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
    .join("");
