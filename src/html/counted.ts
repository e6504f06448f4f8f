/** Formats a number with its noun in English: "1 message", "12,000 messages". */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
