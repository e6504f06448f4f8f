/**
 * True under `npm test -- --full`, and so under `npm run check`: runs tests that repeat, with more processes or at more places, what a
 * sample always tests.
 */
export const inFull = process.env.TEST_FULL === "1";

/** `it` in a full run; otherwise the title is listed as pending. */
export const itInFull = (title: string, test: Mocha.AsyncFunc): Mocha.Test => (inFull ? it : it.skip)(title, test);

/** `describe` in a full run; otherwise its tests are listed as pending, and its hooks do not run. */
export function describeInFull(title: string, tests: (this: Mocha.Suite) => void): void {
  (inFull ? describe : describe.skip)(title, tests);
}

/** Returns the size for a full run, or the usual one. */
export const sized = (usual: number, full: number): number => (inFull ? full : usual);
