/** Turns the words of an error into a sentence: with a capital letter and a full stop. */
export const asSentence = (words: string): string => `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
