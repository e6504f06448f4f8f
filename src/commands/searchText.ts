import { cutText } from "#streams/cutText.ts";

/** Characters of a body too large for its event that the event keeps, to be searched. */
const keptCharacters = 8_000;

/** Returns the part of a large body that its event keeps, so that the mail can be searched. */
export const searchTextOf = (body: string): string => cutText(body, keptCharacters);
