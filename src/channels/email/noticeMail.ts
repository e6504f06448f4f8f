import { html } from "#src/html/html.ts";
import { font, light, mailFrame, row } from "./mailFrame.ts";

/** Texts of a short mail by the service. They are escaped here, and no part of them becomes a link. */
export type NoticeWords = {
  /** Subject, and heading of the text. */
  subject: string;
  /** Paragraphs; line breaks within a paragraph are kept. */
  paragraphs: readonly string[];
  /** The single link. */
  button?: { label: string; url: string } | undefined;
  /** Small print, after the button. */
  facts?: readonly string[] | undefined;
};

/** Renders a short mail in the same frame as the approval mail: heading, paragraphs, button and small print. Text and HTML say the same. */
export function renderNoticeMail({ subject, paragraphs, button, facts = [] }: NoticeWords): {
  text: string;
  html: string;
} {
  const paragraph = (words: string) =>
    html`<p class="ink" style="margin:0 0 12px;${font}${breaks}font-size:16px;line-height:1.5;color:${light.ink};">${words.split("\n").map((line, index) => html`${index > 0 && html`<br>`}${line}`)}</p>`;
  const pressed =
    button &&
    row(
      html`<p style="margin:0 0 12px;"><a href="${button.url}" style="display:inline-block;padding:14px 22px;border-radius:10px;background-color:${light.link};color:${light["on-button"]};${font}font-size:17px;font-weight:700;text-decoration:none;">${button.label}</a></p>
<p class="soft" style="margin:0 0 8px;${font}font-size:13px;line-height:1.5;color:${light.soft};word-break:break-all;">${button.url}</p>`,
    );
  return {
    text: [...paragraphs, ...(button ? [`${button.label}:\n${button.url}`] : []), ...facts].join("\n\n"),
    html: mailFrame({
      subject,
      title: subject,
      facts,
      lead: html`${paragraphs.map(paragraph)}`,
      rows: html`${pressed}`,
    }),
  };
}

const breaks = "overflow-wrap:anywhere;word-break:break-word;";
