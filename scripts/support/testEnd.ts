/** What a process that ran tests does at its end: whoever needs it adds it. */
export const atEnd: (() => Promise<void>)[] = [];
