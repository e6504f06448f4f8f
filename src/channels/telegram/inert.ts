import { unlinked } from "../email/excerpt.ts";

/**
 * Makes quoted text in which Telegram finds nothing to tap: no address, no name of a person or chat, no command, no tag. The inserted
 * separator has no width, so the text looks the same.
 */
export const unlinkedInChat = (text: string): string =>
  unlinked(text).replace(/(?<![\p{L}\p{N}_])(?:[@#$]|(?<![/<>])\/)(?=[\p{L}\p{N}_])/gu, "$&\u200c");
