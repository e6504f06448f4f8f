import { unlinked } from "../email/excerpt.ts";

/**
 * Words by others in which Telegram finds nothing to be tapped: no address, no name of a person or chat, no command, no tag. The mark that parts
 * them has no width, so that the text looks the same.
 */
export const unlinkedInChat = (text: string): string =>
  unlinked(text).replace(/(?<![\p{L}\p{N}_])(?:[@#$]|(?<![/<>])\/)(?=[\p{L}\p{N}_])/gu, "$&\u200c");
