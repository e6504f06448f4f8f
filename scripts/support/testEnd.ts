/** What a process that ran tests does at its end: code that needs something done adds it. */
export const atEnd: (() => Promise<void>)[] = [];
