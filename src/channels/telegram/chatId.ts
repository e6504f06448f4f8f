/**
 * A chat's number, of at most 52 bits and below 0 for groups and channels; or the @name of a public group or channel. Telegram accepts other
 * texts only to refuse each message.
 */
const shape = /^(-?[1-9]\d{0,15}|@[A-Za-z]\w{3,31})$/;

export const isChatId = (text: string): boolean => shape.test(text);
