import { isAttribution } from "../quotes/attribution.ts";

/** An element of a mail's HTML. */
export type MailElement = { name: string; attributes: ReadonlyMap<string, string> };

type Surroundings = {
  /** The elements around it. */
  around: readonly MailElement[];
  /** The last lines above it. */
  above(): string[];
};

/** Elements around it that are looked at. */
const reach = 20;

/**
 * True for an element by which a mail program quotes an earlier mail. A blockquote with nothing that marks it as one of these is formatting of
 * the writer's own words.
 */
export function isQuotation(element: MailElement, { around, above }: Surroundings): boolean {
  if (element.name === "div") return isQuotingDivision(element);
  if (element.name !== "blockquote") return false;
  const { attributes } = element;
  if (attributes.get("type")?.toLowerCase() === "cite" || attributes.has("cite")) return true;
  return around.slice(-reach).some(isReplyContainer) || isAttribution(above());
}

/** Yahoo, GMX and web.de, Outlook's apps, Spark, Zoho: a division that holds the earlier mail with the line that introduces it. */
const isQuotingDivision = ({ attributes }: MailElement): boolean =>
  /^(?:yahoo_quoted|ydp\w{1,20}yahoo_quoted|mail-editor-reference-message-container)/.test(
    attributes.get("id") ?? "",
  ) ||
  /(?:^|\s|ydp\w{1,20})(?:yahoo_quoted|ms-outlook-mobile-reference-message|zmail_extra)(?:\s|$)/.test(
    attributes.get("class") ?? "",
  ) ||
  /^(?:quote|messageReplySection)$/.test(attributes.get("name") ?? "");

/** Gmail, Proton and others put the introducing line and the blockquote into a division. A class alone on a blockquote may be the writer's formatting. */
const isReplyContainer = ({ name, attributes }: MailElement): boolean =>
  name === "div" &&
  /(?:^|\s)(?:\w{1,30}_)?(?:gmail|protonmail|tutanota|hey|front)_quote(?:_container)?(?:\s|$)/.test(
    attributes.get("class") ?? "",
  );
