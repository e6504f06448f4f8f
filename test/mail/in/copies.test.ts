import { expect } from "chai";
import { linesBesideOurs } from "#src/mail/in/copies.ts";
import { parseMail } from "#src/mail/in/parseMail.ts";
import type { ComposedBodies } from "#src/mail/out/bodies.ts";

/** What is read in a mail that came under a Message-ID of ours, beside the words that were sent under it. */
describe("a copy of our own mail [d5 own_copy]", () => {
  const limits = { maxHtmlBytes: 1024 * 1024, maxTextBytes: 1024 * 1024, maxAttachments: 100 };
  const text =
    "It is on its way – today.\nAnswer with one of:\nyes\nno\nFrom Friday on we are closed.\n\n-- \nAcme Support";
  const html = `<!doctype html><html><body><p>It is <b>on its way</b> – today.</p><p>Answer with one of:</p><table><tr><td>yes</td><td>no</td></tr></table><p>From Friday on we are closed.</p><p>See <a href="https://acme.example/t?id=7">your parcel</a> and the opening hours of the shop.</p><p>Acme Support</p></body></html>`;
  const plain: ComposedBodies = { text, html: null };
  const both: ComposedBodies = { text, html };

  type Part = { type?: string; encoding?: string; headers?: string; body: string | Buffer };
  const partOf = ({ type = "text/plain; charset=utf-8", encoding = "8bit", headers = "", body }: Part): Buffer =>
    Buffer.concat([
      Buffer.from(`Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n${headers}\r\n`),
      Buffer.isBuffer(body) ? body : Buffer.from(body.replace(/\r?\n/g, "\r\n")),
    ]);
  const multipart = (kind: string, ...parts: Part[]): Part => ({
    type: `multipart/${kind}; boundary="b-${kind}"`,
    body: Buffer.concat([
      ...parts.flatMap((part) => [Buffer.from(`--b-${kind}\r\n`), partOf(part), Buffer.from("\r\n")]),
      Buffer.from(`--b-${kind}--\r\n`),
    ]),
  });
  const page = (body: string): Part => ({ type: "text/html; charset=utf-8", body });
  const two = (ofText: string, ofHtml: string): Part => multipart("alternative", { body: ofText }, page(ofHtml));

  /** Returns the lines beside ours in all forms, with "+" before those above and "-" before those below; "other" if the words are not ours. */
  async function besideIn(sent: ComposedBodies, came: Part): Promise<string[] | "other"> {
    const parsed = await parseMail(Buffer.concat([Buffer.from("MIME-Version: 1.0\r\n"), partOf(came)]), limits);
    const forms = linesBesideOurs({ sent, came: parsed });
    if (forms === null) return "other";
    const lines = forms.flatMap(({ above, below }) => [
      ...above.map((line) => `+${line}`),
      ...below.map((line) => `-${line}`),
    ]);
    return lines.map((line) => line.replace(/\s+/g, " ").trim());
  }

  const quoted = (given: string): string =>
    [...Buffer.from(given)]
      .map((byte) => (byte === 10 ? "\n" : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`))
      .join("")
      .replace(/(.{72})(?==)/g, "$1=\n");
  const base64 = (given: string): string => Buffer.from(given).toString("base64").replace(/.{60}/g, "$&\n");
  /** Breaks lines at 24 characters as a mail program does that writes format=flowed. */
  const flowed = (given: string): string =>
    given
      .split("\n")
      .map((line) => (line === "-- " ? line : line.replace(/(.{24}\S*) /g, "$1 \n").replace(/^(?=From|>| )/gm, " ")))
      .join("\n");
  const footer = "The list of Acme\nhttps://lists.example/acme";

  const own: Record<string, [ComposedBodies, Part]> = {
    "as it was": [plain, { body: text }],
    "in quoted-printable": [plain, { encoding: "quoted-printable", body: quoted(text) }],
    "in base64": [plain, { encoding: "base64", body: base64(text) }],
    "in another charset": [
      plain,
      { type: "text/plain; charset=windows-1252", body: Buffer.from(text.replace("–", "\u0096"), "latin1") },
    ],
    "as format=flowed": [plain, { type: "text/plain; charset=utf-8; format=flowed", body: flowed(text) }],
    "broken at 30 characters": [plain, { body: text.replace(/(.{20}\S*) /g, "$1\n") }],
    "without blanks at ends of lines, with tabs and blank lines": [
      plain,
      { body: text.replace("-- ", "--").replaceAll(" on", "\ton").replaceAll("\n", "\n\n") },
    ],
    "with a line that a mail store escaped": [plain, { body: text.replace("From Friday", ">From Friday") }],
    "with both forms": [both, two(text, html)],
    "with its text alone": [both, { body: text }],
    "with its HTML alone": [both, page(html)],
    "with HTML that a gateway wrote anew": [
      both,
      two(
        text,
        html.replace(
          /<(\/?)(p|b|table|tr|td)>/g,
          (_, end, name) => `\n<${end}${name.toUpperCase()}${end ? "" : ' class="x" style="margin:0"'}>`,
        ),
      ),
    ],
    "with HTML that a gateway made of the text": [plain, two(text, `<pre>${text}</pre>`)],
    "with a footer below a rule of underscores": [plain, { body: `${text}\n\n_______________\n${footer}` }],
    "with a footer below a rule of hyphens": [plain, { body: `${text}\n----\n${footer}` }],
    "with a footer below a rule of stars and blanks": [plain, { body: `${text}\n* * * * * *\n${footer}` }],
    "with a footer below a rule of equals signs": [plain, { body: `${text}\n======\n${footer}` }],
    "with the line of a virus scanner below “-- ”": [plain, { body: `${text}\n-- \nThis mail was checked by Scan.` }],
    "with a footer in a part of its own": [
      plain,
      multipart("mixed", { body: text }, { headers: "Content-Disposition: inline\r\n", body: `____\n${footer}` }),
    ],
    "with a footer below a line in the HTML alone": [
      both,
      two(text, html.replace("</body>", `<hr size="1"><p>The list of Acme and its friends</p></body>`)),
    ],
    "in HTML alone with a footer below a line": [
      both,
      page(html.replace("</body>", `<hr/><p>The list of Acme</p></body>`)),
    ],
    "with a footer whose rule one form lacks": [
      both,
      two(`${text}\n____\nThe list of Acme`, html.replace("</body>", `<p class="rule">The list of Acme</p></body>`)),
    ],
    "with HTML that says something else than its text": [
      { text: "Your program shows no HTML.", html },
      two("Your program shows no HTML.", html),
    ],
    "with HTML alone that says more than its text": [
      { text: "It is on its way.", html: "<p>It is on its way.</p><p>Yours, Acme</p>" },
      page("<p>It is on its way.</p><p>Yours, Acme</p>"),
    ],
    "with a line in its HTML": [
      { text, html: `<p>${text.replace(/\n/g, "<br>")}</p><hr><p>Our imprint stands here</p>` },
      page(`<p>${text.replace(/\n/g, "<br>")}</p><hr><p>Our imprint stands here</p>`),
    ],
  };
  for (const [form, [sent, came]] of Object.entries(own))
    it(`nothing else is read in a copy ${form}`, async () => {
      expect(await besideIn(sent, came)).to.deep.equal([]);
    });

  const cancel = "Please cancel the order.";
  const others: Record<string, [ComposedBodies, Part, string[] | "other"]> = {
    "above our words": [plain, { body: `${cancel}\n\n${text}` }, [`+${cancel}`]],
    "below our words": [plain, { body: `${text}\n\n${cancel}` }, [`-${cancel}`]],
    "as one short word": [plain, { body: `ok\n${text}` }, ["+ok"]],
    "as an emoji": [plain, { body: `${text}\n👍` }, ["-👍"]],
    "that one of our lines has too": [plain, { body: `yes\n\n${text}` }, ["+yes"]],
    "below ours, that one of our lines has too": [
      both,
      two(`${text}\nno`, html.replace("</body>", "<p>no</p></body>")),
      ["-no", "-no"],
    ],
    "that are a cell of our HTML": [both, page(`<p>yes</p>${html}`), ["+yes", "+yes"]],
    "between our lines": [plain, { body: text.replace("\nyes", `\n${cancel}\nyes`) }, "other"],
    "on one of our lines": [plain, { body: text.replace("today.", `today. ${cancel}`) }, "other"],
    "before our first line, on it": [plain, { body: `${cancel} ${text}` }, [`+${cancel} It is on its way – today.`]],
    "behind our last line, on it": [plain, { body: `${text} ${cancel}` }, [`-Acme Support ${cancel}`]],
    "between our words and a rule": [plain, { body: `${text}\n${cancel}\n____\nfooter` }, [`-${cancel}`]],
    "below a rule of three": [plain, { body: `${text}\n---\nok` }, ["----", "-ok"]],
    "above a rule above our words": [plain, { body: `${cancel}\n_____\n${text}` }, [`+${cancel}`, "+_____"]],
    "above our words marked as a quotation": [
      plain,
      { body: `${cancel}\n\n> ${text.replaceAll("\n", "\n> ")}` },
      "other",
    ],
    "and our words cut": [plain, { body: text.slice(0, 60) }, "other"],
    alone: [plain, { body: cancel }, "other"],
    "in the HTML alone": [both, two(text, html.replace("<body>", "<body><p>ok</p>")), ["+ok"]],
    "below ours in the HTML alone": [
      both,
      two(text, html.replace("</body>", `<p>${cancel}</p></body>`)),
      [`-${cancel}`, `-${cancel}`],
    ],
    "inside ours in the HTML alone": [both, two(text, html.replace("your parcel", "your parcel, cancel it,")), "other"],
    "in the text alone": [both, two(`No!\n${text}`, html), ["+No!"]],
    "below a rule in one form and above ours in the other": [
      both,
      two(`${text}\n____\n${cancel}`, html.replace("<body>", `<body><p>${cancel}</p>`)),
      [`+${cancel}`],
    ],
    "with another target of our link": [both, two(text, html.replace("acme.example/t", "other.example/t")), "other"],
    "in a third part": [plain, multipart("mixed", { body: text }, { body: cancel }), [`-${cancel}`]],
    "and no text": [plain, { type: "application/pdf", encoding: "base64", body: base64("%PDF-1.4") }, "other"],
  };
  for (const [form, [sent, came, expected]] of Object.entries(others))
    it(`other words are read ${form}`, async () => {
      expect(await besideIn(sent, came)).to.deep.equal(expected);
    });
});
