/** A channel's id, or its name with or without #: letters of any script, digits, - and _. */
const shape = /^#?[\p{L}\p{M}\p{N}_-]{1,80}$/u;

export const isChannelName = (text: string): boolean => shape.test(text);
