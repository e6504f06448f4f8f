/** A bot's id, a colon, and its secret. It becomes part of the URL of every call, so no other characters are allowed. */
const shape = /^\d{1,20}:[A-Za-z0-9_-]{30,128}$/;

export const isBotToken = (token: string): boolean => shape.test(token);

/** Returns the bot id in a token; undefined for an invalid token. The id is not secret. */
export const botIdOf = (token: string): string | undefined => (isBotToken(token) ? token.split(":", 1)[0] : undefined);
