import { expect } from "chai";
import { type HintInput, hintsAbout } from "#src/channels/hints/hints.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import { parseMail } from "#src/mail/in/parseMail.ts";
import { ownWords } from "#src/mail/in/quotes/parts.ts";
import { corpus, hasCorpus } from "#test/mail/in/mails.ts";
import { sized } from "#test/support/full.ts";

const limits = { maxHtmlBytes: 1024 * 1024, maxTextBytes: 1024 * 1024, maxAttachments: 100 };
/** The archives of real mail, and the number of mails in each. */
const archives = { "list-mail": 2_500, mime: 142, automatic: 622, replies: 90 };

describe("hints about archives of real mail", () => {
  for (const [name, count] of Object.entries(archives)) {
    if (!hasCorpus(name)) continue;
    it(`no hint is given for any mail of the archive ${name}`, async () => {
      const mails = corpus(name).filter((file) => /\.(eml|txt|msg)$|\/\d+$/.test(file.name));
      expect(mails).to.have.length(count);
      for (const mail of mails.slice(0, sized(500, count)))
        expect(hintsAbout(await read(mail.raw)), mail.name).to.deep.equal([]);
    });
  }
});

/** Reads a mail. A file without headers is read as plain text. */
async function read(raw: Buffer): Promise<HintInput> {
  const start = raw.toString("latin1", 0, 4096);
  if (!/^[\w-]+:[ \t]/.test(start) && !start.startsWith("From ")) {
    const text = raw.toString();
    return { subject: "", text, newText: ownWords(text), html: null };
  }
  const { bodyText, bodyHtml, extractedText } = await parseMail(raw, limits);
  const newText = extractedText.trim() ? extractedText : (bodyText ?? "");
  return { subject: readHeaders(raw).subject, text: bodyText, newText, html: bodyHtml };
}
