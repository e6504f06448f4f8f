import { html, type Markup } from "#src/html/html.ts";
import { subjectLine } from "./threadWords.ts";

export type SourceView = { messageId: string; threadId: string; subject: string; bytes: Buffer };

/** Maximum number of bytes shown; a download has all. */
const shownBytes = 300 * 1024;

/** The source of a message as received or handed over; invisible characters are written out. */
export function sourcePage({ messageId, threadId, subject, bytes }: SourceView): Markup {
  const isCut = bytes.length > shownBytes;
  const text = bytes.subarray(0, shownBytes).toString("utf8").replace(/\r\n/g, "\n");
  return html`<nav class="pages" aria-label="Message"><a class="press" href="/threads/${threadId}?open=${messageId}#message-${messageId}">Back to the conversation</a> <a class="press" href="/messages/${messageId}/raw" download>Download</a></nav>
<h1>Source of “<bdi lang="">${subjectLine(subject, 100)}</bdi>”</h1>
<p class="meta">The message exactly as it was received or sent.${isCut && " Only the beginning is shown here. The download has the whole message."}</p>
<pre class="source" tabindex="0" aria-label="Source of the message" dir="ltr" lang="">
${text}</pre>`;
}
