/** A bot's id, a colon, and its secret. It becomes a part of the address of every call, so nothing else may be in it. */
const shape = /^\d{1,20}:[A-Za-z0-9_-]{30,128}$/;

export const isBotToken = (token: string): boolean => shape.test(token);

/** The id of the bot that a token is for; undefined for what is no token. It is no secret. */
export const botIdOf = (token: string): string | undefined => (isBotToken(token) ? token.split(":", 1)[0] : undefined);
