/** What the file exports, loaded as V8 compiled it before, if it did. */
export function runCompiled(file: string): unknown;
