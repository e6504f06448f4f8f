/** A bug that tests have to find: one place in a source, which is made wrong. */
export type PlantedBug = {
  /** What no longer holds with it. */
  breaks: string;
  /** The source, from the root of the project. */
  file: string;
  /** The text, once in that file, and what takes its place with the bug. */
  text: string;
  becomes: string;
  /** The tests that fail with it, by their file and what is in their titles. */
  foundBy: { file: string; titles: string };
};

/** The bug's source with the bug. Throws where its place is not found, or not found once. */
export function withBug(source: string, { file, text, becomes, breaks }: PlantedBug): string {
  const places = source.split(text).length - 1;
  if (places !== 1) throw new Error(`${breaks}: ${file} has ${places} places with ${JSON.stringify(text)}, not one`);
  // As a function, so that nothing in the text is taken for a pattern.
  return source.replace(text, () => becomes);
}
