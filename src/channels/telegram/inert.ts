import { unlinked } from "../email/excerpt.ts";

/**
 * Changes quoted text so that Telegram makes nothing in it tappable: no address, name, command or tag. The inserted separator has no width,
 * so the text looks the same.
 */
export const unlinkedInChat = (text: string): string =>
  unlinked(text).replace(/(?<![\p{L}\p{N}_])(?:[@#$]|(?<![/<>])\/)(?=[\p{L}\p{N}_])/gu, "$&\u200c");
