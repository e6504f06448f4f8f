import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { runsInMail } from "#src/mail/in/links/mailRuns.ts";
import { mayHoldToken } from "#src/mail/in/links/readings.ts";
import { tokenRuns, withoutRuns } from "#src/mail/in/links/tokenRuns.ts";
import { seeded } from "../../../scripts/support/random.ts";
import { mail } from "./mails.ts";

const token = "Kq3-T_x9aBcDeFgHiJkLmNoPqRsTuVwXyZ012345_-6";
const link = `https://mail.example.com/a/${token}?d=approve`;
const removed = "[approval link removed]";

const percent = (text: string): string => encodeURIComponent(text);
const every = (text: string, write: (code: string) => string): string =>
  [...text].map((char) => write(char.charCodeAt(0).toString(16))).join("");

/** Returns the text as it is shown if this token belongs to a link. */
function shown(text: string): string {
  const runs = tokenRuns(text);
  const places = runs.flatMap(({ start, end }, index) => [start, end, index]);
  return withoutRuns(text, places, (index) => runs[index]?.run === token);
}

describe("possible tokens of approval links", () => {
  const written: Record<string, [text: string, shown: string]> = {
    "in a text": [`See ${link}.`, `See https://mail.example.com/a/${removed}?d=approve.`],
    "between others' characters": [`/a/${token}_ and _a_`, `/a/${removed}_ and _a_`],
    "in an address alone": [
      `<a href="${link}">Approve</a>`,
      `<a href="https://mail.example.com/a/${removed}?d=approve">Approve</a>`,
    ],
    "rewritten by a gateway": [
      `https://links.example/?url=${percent(link)}&amp;data=05%7C`,
      `https://links.example/?url=https%3A%2F%2Fmail.example.com%2Fa%2F${removed}%3Fd%3Dapprove&amp;data=05%7C`,
    ],
    "rewritten three times, in lower case": [
      `u=${percent(percent(percent(link)))
        .toLowerCase()
        .replace(token.toLowerCase(), token)}`,
      `u=${percent(percent(percent("https://mail.example.com/a/"))).toLowerCase()}${removed}${percent(percent(percent("?d=approve"))).toLowerCase()}`,
    ],
    "with every character percent-encoded three times": [every(token, (code) => `%2525${code}`), removed],
    "as entities, hexadecimal": [every(token, (code) => `&#x${code};`), removed],
    "as entities, decimal, without a semicolon": [every(token, (code) => `&#0${Number.parseInt(code, 16)}`), removed],
    "as an entity of an entity": [every(token, (code) => `&amp;#x${code};`), removed],
    "over two lines of a quotation": [
      `> /a/${token.slice(0, 20)}\r\n> ${token.slice(20)}?d=approve`,
      `> /a/${removed}?d=approve`,
    ],
    "between angle brackets, over two lines": [
      `<https://x.example/a/${token.slice(0, 7)}\n${token.slice(7)}>`,
      `<https://x.example/a/${removed}>`,
    ],
    "split by tags": [`<b>${token.slice(0, 9)}</b><i class="x">${token.slice(9)}</i>`, `<b>${removed}</i>`],
    "split by characters without width": [`${token.slice(0, 9)}\u200b${token.slice(9)}`, removed],
    "in the way of an older gateway": [
      `https://urldefense.proofpoint.com/v2/url?u=https-3A__mail.example.com_a_${token.replaceAll("-", "-2D").replaceAll("_", "-5F")}-3Fd-3Dapprove&d=Dw`,
      `https://${removed}&d=Dw`,
    ],
    "in base64 behind a gateway's address": [
      `https://gw.example/?u=${Buffer.from(link).toString("base64url")}&i=1`,
      `https://gw.example/?u=${removed}&i=1`,
    ],
    "in hexadecimal digits": [
      `https://gw.example/${Buffer.from(link).toString("hex")}`,
      `https://gw.example/${removed}`,
    ],
    "split by entities that browsers leave out": [`/a/${token.slice(0, 9)}&#9;&#xA;${token.slice(9)}`, `/a/${removed}`],
  };
  for (const [how, [text, expected]] of Object.entries(written)) {
    it(`an approval token ${how} is found and removed`, () => {
      expect(shown(text)).to.equal(expected);
      expect(mayHoldToken(text)).to.equal(true);
    });
  }

  it("a text is searched for tokens exactly if it has 43 of their characters in a row", () => {
    const random = seeded(43);
    const characters = [..."aZ09_-%&#; .é\u0141"];
    for (let run = 0; run < 2_000; run++) {
      const pieces = Array.from({ length: 1 + Math.floor(random() * 6) }, () =>
        (characters[Math.floor(random() * characters.length)] as string).repeat(Math.floor(random() * 46)),
      );
      const text = pieces.join("");
      expect(mayHoldToken(text), text).to.equal(/[\w%&#;-]{43}/.test(text));
    }
  });

  it("a run longer or shorter than a token is no token", () => {
    for (const text of [token.slice(1), `${token}x`, `x${token}`, `${token.slice(0, 21)} ${token.slice(21)}`]) {
      expect(tokenRuns(text), text).to.deep.equal([]);
    }
  });

  it("a text of repeated pieces is searched for tokens without hanging", () => {
    const parts = [
      "%25",
      "&amp;",
      "<",
      "<a ",
      "\n> ",
      "-",
      "_",
      "A",
      "urldefense.proofpoint.com/v2/url?u=",
      "&#x00000000000",
      "aHR0c",
      "68747470",
      "/stop/",
      " ",
    ];
    for (const part of parts) {
      tokenRuns(part.repeat(100_000 / part.length));
      mayHoldToken(part.repeat(100_000 / part.length));
    }
  });
});

describe("possible tokens in a mail", () => {
  const bodies = { bodyText: "no link", bodyHtml: null, extractedText: "no link" };
  type Given = Parameters<typeof runsInMail>;
  const inMail = (shown: Given[0], attachments: Given[1]["attachments"], isCut: boolean) =>
    runsInMail(shown, { raw: Buffer.alloc(0), attachments, isCut });
  const inRaw = async (raw: string): Promise<string[]> =>
    runsInMail(bodies, { raw: Buffer.from(raw), attachments: [], isCut: false }).links.found;
  const file = (contentType: string, content: string | Buffer, filename: string | null = null) => ({
    ...{ contentType, filename, contentId: null, inline: false },
    bytes: Buffer.from(content),
  });
  const enclosed = (...body: string[]) =>
    mail(["Subject: Fwd", "MIME-Version: 1.0"].concat(body.slice(0, -1)), body.at(-1) as string);
  const soft = `Content-Type: text/plain; charset=utf-8`;

  const attached = {
    "a text": file("text/plain", link),
    "a text in UTF-16": file("text/plain", Buffer.from(`\ufeff${link}`, "utf16le")),
    "a text under no type of its own": file("application/octet-stream", `log: ${link}`),
    "the end of a long text": file("text/csv", `${"a,b\n".repeat(300_000)}${link}`),
    "a mail, with soft line breaks": file(
      "message/rfc822",
      enclosed(
        soft,
        "Content-Transfer-Encoding: quoted-printable",
        `${link.slice(0, 40)}=\r\n${link.slice(40).replace("=", "=3D")}`,
      ),
    ),
    "a mail in base64 under a file's name": file(
      "application/octet-stream",
      enclosed(
        "Content-Type: text/html",
        "Content-Transfer-Encoding: base64",
        Buffer.from(`<a href="${link}">`).toString("base64"),
      ),
      "fwd.eml",
    ),
    "a mail inside a mail": file(
      "message/rfc822",
      enclosed("Content-Type: message/rfc822", enclosed(soft, link).toString()),
    ),
    "the subject of a mail": file("message/rfc822", mail([`Subject: ${link}`, soft], "x")),
  };
  for (const [what, attachment] of Object.entries(attached)) {
    it(`an approval token is found in ${what} that is attached`, async () => {
      const { links } = await inMail(bodies, [attachment], false);
      expect(links.found).to.include(token);
      expect([links.tooMany, links.unchecked]).to.deep.equal([false, false]);
    });
  }

  const around = ["--b", "Content-Type: text/plain", "", "x", "--b--"].join("\r\n");
  const elsewhere: Record<string, string> = {
    "a field of the header": `X-Link: ${link}\r\n\r\nx`,
    "an address of the header": `Reply-To: <${token}@x.example>\r\n\r\nx`,
    "a subject that is folded": `Subject: See the link ${token.slice(0, 20)}\r\n ${token.slice(20)}\r\n\r\nx`,
    "encoded words": `To: =?utf-8?B?${Buffer.from(link.slice(0, 40)).toString("base64")}?=\r\n =?utf-8?B?${Buffer.from(link.slice(40)).toString("base64")}?=\r\n\r\nx`,
    "what stands before the parts": `Content-Type: multipart/mixed; boundary=b\r\n\r\n${link}\r\n${around}`,
    "what stands behind the parts": `Content-Type: multipart/mixed; boundary=b\r\n\r\n${around}\r\n${link}`,
  };
  for (const [where, raw] of Object.entries(elsewhere)) {
    it(`an approval token is found in ${where}`, async () => {
      expect(await inRaw(raw)).to.include(token);
    });
  }

  it("DKIM and ARC signatures in the header are not searched for tokens", async () => {
    const raw = `DKIM-Signature: v=1; bh=${token}=;\r\n b=${token}\r\nARC-Seal: i=1; b=${token}\r\nSubject: x\r\n\r\nx`;
    expect(await inRaw(raw)).to.deep.equal([]);
  });

  it("a picture is searched for whole links and not for tokens alone", async () => {
    const picture = (words: string) =>
      file("image/png", Buffer.concat([Buffer.from("\x89PNG\0\0", "latin1"), Buffer.from(words)]));
    expect((await inMail(bodies, [picture(token)], false)).links).to.deep.include({ found: [], unchecked: false });
    expect((await inMail(bodies, [picture(link)], false)).links.found).to.deep.equal([token]);
  });

  it("an attachment is searched to its end unless it has more than 8 MB of possible tokens", async () => {
    const behind = (line: string) =>
      file("text/csv", `${line.repeat(Math.ceil((8.1 * 1024 * 1024) / line.length))}${link}`);
    const plain = await inMail(bodies, [behind("2026-01-01,a company,1234.50\r\n")], false);
    expect(plain.links).to.deep.include({ found: [token], unchecked: false });
    const tangled = await inMail(bodies, [behind(`${"x".repeat(1_000)}\n`)], false);
    expect(tangled.links).to.deep.include({ found: [], unchecked: true });
  });

  it("a mail is reported as unchecked if a part is unreadable, cut or nested too deeply", async () => {
    let deep = enclosed(soft, link).toString();
    for (let depth = 0; depth < 6; depth += 1) deep = enclosed("Content-Type: message/rfc822", deep).toString();
    expect((await inMail(bodies, [file("message/rfc822", deep)], false)).links.unchecked).to.equal(true);
    const endless = file("message/rfc822", `X-A: ${"x".repeat(90)}\r\n`.repeat(25_000));
    expect((await inMail(bodies, [endless], false)).links.unchecked).to.equal(true);
    expect((await inMail(bodies, [], true)).links.unchecked).to.equal(true);
    expect((await inMail(bodies, [], false)).links.unchecked).to.equal(false);
  });

  const decoys = (count: number): string =>
    Array.from({ length: count }, () => randomBytes(32).toString("base64url")).join("\n\n");

  it("all possible tokens are removed from a body with more than 1,000 of them", async () => {
    const bodyText = `${decoys(1_001)}\n\n${link}`;
    const read = await inMail({ bodyText, bodyHtml: `<p>${link}</p>`, extractedText: bodyText }, [], false);
    expect(read.links).to.deep.include({ tooMany: true, unchecked: true });
    expect(read.links.found).to.have.length(1_000);
    for (const text of [read.bodyText, read.bodyHtml, read.extractedText]) {
      expect(text).not.to.include(token);
      expect(text).to.match(/\/a\/\[approval link removed\]\?d=approve/);
    }
    expect(tokenRuns(read.bodyText as string)).to.deep.equal([]);
  });

  it("an attachment with more than 1,000 possible tokens leaves the body unchanged", async () => {
    const { links, bodyText } = await inMail(bodies, [file("text/plain", `${decoys(1_001)}\n${link}`)], false);
    expect(links).to.deep.include({ tooMany: false, unchecked: true });
    expect(bodyText).to.equal("no link");
  });
});
