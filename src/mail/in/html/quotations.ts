import { isAttribution } from "../quotes/attribution.ts";

/** An element of a mail's HTML. */
export type MailElement = { name: string; attributes: ReadonlyMap<string, string> };

type QuotationContext = {
  /** The elements around this one. */
  around: readonly MailElement[];
  /** Returns the last lines of text above it. */
  above(): string[];
};

/** Maximum number of surrounding elements that are checked. */
const reach = 20;

/**
 * True for the element with which Outlook's apps begin an earlier mail: the block of its header fields, or all of it. What follows is the
 * earlier mail too, in elements without a mark. Another Outlook that quotes them adds `x_` to each name.
 */
export const beginsEarlierMail = ({ name, attributes }: MailElement): boolean =>
  name === "div" &&
  (/^(?:x_|m_-?\d{1,30})*divRplyFwdMsg$/.test(attributes.get("id") ?? "") ||
    /(?:^|\s)(?:x_)*ms-outlook-mobile-reference-message(?:\s|$)/.test(attributes.get("class") ?? ""));

/**
 * True for an element by which a mail program quotes an earlier mail. A blockquote without such a mark is the writer's own formatting.
 */
export function isQuotation(element: MailElement, { around, above }: QuotationContext): boolean {
  if (element.name === "div") return isQuotingDivision(element);
  if (element.name !== "blockquote") return false;
  const { attributes } = element;
  if (attributes.get("type")?.toLowerCase() === "cite" || attributes.has("cite")) return true;
  return around.slice(-reach).some(isReplyContainer) || isAttribution(above());
}

/**
 * True for the wrappers of Yahoo, GMX and web.de, Outlook's apps, Spark, Zoho: a div with the earlier mail and the line that introduces
 * it.
 */
const isQuotingDivision = ({ attributes }: MailElement): boolean =>
  /^(?:yahoo_quoted|ydp\w{1,20}yahoo_quoted|mail-editor-reference-message-container)/.test(
    attributes.get("id") ?? "",
  ) ||
  /(?:^|\s|ydp\w{1,20})(?:yahoo_quoted|zmail_extra)(?:\s|$)/.test(attributes.get("class") ?? "") ||
  /^(?:quote|messageReplySection)$/.test(attributes.get("name") ?? "");

/**
 * True for a div of Gmail, Proton and others with the introducing line and the blockquote. A class alone on a blockquote may be the
 * writer's formatting.
 */
const isReplyContainer = ({ name, attributes }: MailElement): boolean =>
  name === "div" &&
  /(?:^|\s)(?:\w{1,30}_)?(?:gmail|protonmail|tutanota|hey|front)_quote(?:_container)?(?:\s|$)/.test(
    attributes.get("class") ?? "",
  );
