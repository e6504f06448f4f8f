import { expect } from "chai";
import { htmlOfText } from "#src/html/htmlOfText.ts";
import { linesBesideOurs } from "#src/mail/in/copies.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import { parseMail } from "#src/mail/in/parseMail.ts";
import { reactionIn } from "#src/mail/in/reactions.ts";
import { renderMail } from "#src/mail/out/render.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { sized } from "#test/support/full.ts";
import { corpus, hasCorpus } from "./mails.ts";

const limits = { maxHtmlBytes: 1024 * 1024, maxTextBytes: 1024 * 1024, maxAttachments: 100 };

/** The texts of real mails, sent by us and brought back: their copies are ours, and one more word makes them somebody's. */
if (hasCorpus("replies") && hasCorpus("automatic") && hasCorpus("mime"))
  describe("copies of real texts [d5 own_copy]", () => {
    const messageId = "<own@ours.example>";
    const render = async (text: string, html: string | null) =>
      (
        await renderMail({
          content: draftContent({ body_text: text, body_html: html }),
          messageId,
          date: new Date(0),
          attachments: new Map(),
        })
      ).mime;

    it("a copy of a real text as it was sent is ours in both forms, and with a word more it is not", async () => {
      const bodies = [
        ...corpus("replies"),
        ...corpus("automatic").filter((_, index) => index % sized(60, 1) === 0),
      ].map(({ raw }) => raw.toString("utf8").replaceAll("\0", ""));
      let count = 0;
      for (const body of bodies.filter((each) => each.trim() !== "")) {
        for (const html of [null, htmlOfText(body)]) {
          const sent = { text: body, html };
          const beside = async (mime: Buffer) => linesBesideOurs({ sent, came: await parseMail(mime, limits) });
          const isOurs = (forms: Awaited<ReturnType<typeof beside>>) =>
            forms?.every(({ above, below }) => above.length + below.length === 0) ?? false;
          expect(isOurs(await beside(await render(body, html))), body.slice(0, 300)).to.equal(true);
          for (const [text, page] of [
            [`ok\n${body}`, html && `<p>ok</p>${html}`],
            [`${body}\nok`, html && `${html}<p>ok</p>`],
            [body, html && `<p>ok</p>${html}`],
            [body.replace(/\S+\s*$/, ""), null],
          ] as const)
            if (text !== body || page !== html)
              expect(isOurs(await beside(await render(text, page))), `with a word: ${text.slice(0, 300)}`).to.equal(
                false,
              );
          count += 1;
        }
      }
      expect(count).to.be.greaterThan(100);
    });

    it("no real mail is a reaction", async () => {
      const found: string[] = [];
      for (const { name, raw } of [...corpus("automatic"), ...corpus("mime")]) {
        const headers = readHeaders(raw);
        if (headers.mayReact && reactionIn(await parseMail(raw, limits), headers) !== null) found.push(name);
      }
      expect(found).to.deep.equal([]);
    });
  });
