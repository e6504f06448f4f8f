/** A date without a time means the whole day, in UTC. */
const isDay = (text: string): boolean => !text.includes("T");

/** Returns the first moment of a day, or the time itself. */
export const startOf = (text: string): Date => new Date(isDay(text) ? `${text}T00:00:00.000Z` : text);

/** Returns the last moment of a day, or the time itself. */
export const endOf = (text: string): Date => new Date(isDay(text) ? `${text}T23:59:59.999Z` : text);
