import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { parseMail } from "#src/mail/in/parseMail.ts";
import { reactionIn } from "#src/mail/in/reactions.ts";

/** Reactions as Gmail (developers.google.com/workspace/gmail/reactions/format), Outlook and RFC 9078 write them, and mail like them. */
describe("a reaction in a mail [d5 reaction]", () => {
  const limits = { maxHtmlBytes: 1024 * 1024, maxTextBytes: 1024 * 1024, maxAttachments: 100 };
  type Mail = { from?: string; headers?: string[]; type?: string; body: string };

  /** Returns the sign of a mail; null if it is mail. */
  async function signOf({
    from = "Carla Smith <carla@customer.example>",
    headers = [],
    type = "text/plain; charset=utf-8",
    body,
  }: Mail) {
    const head = [
      `From: ${from}`,
      "Subject: Re: Order",
      "In-Reply-To: <our-answer@ours.example>",
      "MIME-Version: 1.0",
      ...headers,
      `Content-Type: ${type}`,
    ];
    const raw = Buffer.from(`${head.join("\r\n")}\r\n\r\n${body.replace(/\n/g, "\r\n")}`);
    return reactionIn(await parseMail(raw, limits), readHeaders(raw));
  }

  const part = (type: string, body: string, ...headers: string[]): string =>
    [`--b`, `Content-Type: ${type}; charset=UTF-8`, ...headers, "", body, ""].join("\n");
  const multipart = (kind: string, ...parts: string[]) => ({
    type: `multipart/${kind}; boundary="b"`,
    body: `${parts.join("\n")}\n--b--\n`,
  });
  const json = (emoji: string, version: unknown = 1): string => JSON.stringify({ version, emoji });
  const jsonType = "text/vnd.google.email-reaction+json";

  type Words = { emoji?: string; sentence?: string; text?: string; html?: string; json?: string; more?: string[] };
  function gmail({
    emoji = "👍",
    sentence = "Carla Smith reacted via Gmail",
    text,
    html,
    json: given,
    more = [],
  }: Words = {}): Mail {
    const link = sentence.replace(
      "Gmail",
      '<a href="https://www.google.com/gmail/about/?utm_source=gmail-in-product">Gmail</a>',
    );
    return multipart(
      "alternative",
      part(
        "text/plain",
        text ??
          `${emoji}\n\n${sentence.replace("Gmail", "Gmail <https://www.google.com/gmail/about/?utm_source=gmail-in-product>")}`,
      ),
      part(jsonType, given ?? json(emoji)),
      part(
        "text/html",
        html ?? `<div><p style="font-size:50px">${emoji}</p><p style="margin-top:10px">${link}</p></div>`,
      ),
      ...more,
    );
  }

  const quotedHtml =
    '<hr style="display:inline-block;width:98%"><div id="divRplyFwdMsg"><b>From:</b> Support &lt;agent@ours.example&gt;<br><b>Sent:</b> Monday<br><b>To:</b> Carla<br><b>Subject:</b> Order</div><div>It is on its way.</div>';
  const quoted =
    "________________________________\nFrom: Support <agent@ours.example>\nSent: Monday, November 16, 2026 10:00 AM\nTo: Carla Smith <carla@customer.example>\nSubject: Order\n\nIt is on its way.";
  const sentence = "Carla Smith reacted to your message:";
  const outlook = (text = `[like]  ${sentence}`, html?: string): Mail => ({
    headers: ["Thread-Index: AdxyZ", "X-MS-Has-Attach: "],
    ...(html === undefined
      ? { body: `${text}\n${quoted}` }
      : multipart(
          "alternative",
          part("text/plain", `${text}\n${quoted}`),
          part("text/html", `<div>${html}</div>${quotedHtml}`),
        )),
  });
  const picture = (sign: string): string =>
    `<img src="https://res.example/${sign}.png" alt="${sign}" width="18">&nbsp; ${sentence}`;
  const disposition = (body: string): Mail => ({ headers: ["Content-Disposition: reaction"], body });

  const reactions: Record<string, [Mail, string]> = {
    "Gmail's": [gmail(), "👍"],
    "Gmail's part alone": [{ type: jsonType, body: json("🎉") }, "🎉"],
    "Gmail's part alone in base64": [
      {
        headers: ["Content-Transfer-Encoding: base64"],
        type: jsonType,
        body: Buffer.from(json("🎉")).toString("base64"),
      },
      "🎉",
    ],
    "Gmail's part beside the sign": [gmail({ text: "👍", html: "<div>👍</div>" }), "👍"],
    "Gmail's in German": [gmail({ sentence: "Carla Smith hat über Gmail reagiert." }), "👍"],
    "Gmail's in Japanese": [gmail({ sentence: "Carla Smith さんが Gmail でリアクションしました" }), "👍"],
    "Gmail's in French, by the first name": [gmail({ sentence: "Carla a réagi via Gmail" }), "👍"],
    "Gmail's of somebody without a name": [
      { ...gmail({ sentence: "carla reacted via Gmail" }), from: "carla@customer.example" },
      "👍",
    ],
    "Gmail's with a quotation below": [
      gmail({
        text: "👍\n\nCarla Smith reacted via Gmail\n\nOn Mon, 16 Nov 2026 at 10:00, Support <agent@ours.example> wrote:\n> It is on its way.",
      }),
      "👍",
    ],
    "Gmail's with a sign that its text writes without a selector": [
      gmail({ emoji: "❤️", text: "❤\n\nCarla Smith reacted via Gmail" }),
      "❤️",
    ],
    "Gmail's with a flag": [gmail({ emoji: "🇩🇪" }), "🇩🇪"],
    "Gmail's with a skin and a profession": [gmail({ emoji: "👩🏽‍🚒" }), "👩🏽‍🚒"],
    "Gmail's with a sign of a later Unicode version": [gmail({ emoji: "\u{1fafc}" }), "\u{1fafc}"],
    "Gmail's with further fields": [gmail({ json: '{"version":1,"emoji":"👍","source":"web"}' }), "👍"],
    "Outlook's text": [outlook(), "👍"],
    "Outlook's text and HTML": [outlook(`[heart]  ${sentence}`, picture("heart")), "❤️"],
    "Outlook's HTML alone": [
      { type: "text/html; charset=utf-8", body: `<div>${picture("laugh")}</div>${quotedHtml}` },
      "😆",
    ],
    "Outlook's with its sentence below the picture": [outlook(`[like]\n${sentence}`), "👍"],
    "Outlook's in German": [outlook("[celebrate]  Carla Smith hat auf Ihre Nachricht reagiert:"), "🎉"],
    "Outlook's in French": [outlook("[surprised]  Carla Smith a réagi à votre message :"), "😮"],
    "Outlook's in Chinese": [outlook("[sad]  Carla Smith 对你的邮件做出了回应："), "😢"],
    "Outlook's of a directory's name": [{ ...outlook(), from: '"Smith, Carla" <carla@customer.example>' }, "👍"],
    "Outlook's without fields of Exchange": [{ body: `[like] ${sentence}` }, "👍"],
    "Outlook's with the picture enclosed": [
      {
        headers: ["X-MS-Has-Attach: yes"],
        ...multipart(
          "related",
          part("text/html", `<img alt="like" src="cid:p1">&nbsp;${sentence}`),
          part("image/png", "png", "Content-ID: <p1>", "Content-Disposition: inline"),
        ),
      },
      "👍",
    ],
    "RFC 9078's": [disposition("👍"), "👍"],
    "RFC 9078's as a part": [multipart("mixed", part("text/plain", "🎉", "Content-Disposition: reaction")), "🎉"],
  };
  for (const [form, [mail, sign]] of Object.entries(reactions))
    it(`a reaction is ${form}`, async () => {
      expect(await signOf(mail)).to.equal(sign);
    });

  const words: Record<string, Mail> = {
    "Gmail's and words above": gmail({ text: "Please cancel.\n\n👍\n\nCarla Smith reacted via Gmail" }),
    "Gmail's and words below": gmail({ text: "👍\n\nCarla Smith reacted via Gmail\n\nok" }),
    "Gmail's and words on its line": gmail({ sentence: "Carla Smith reacted via Gmail. Please cancel" }),
    "Gmail's and words for its sentence": gmail({ sentence: "Please cancel, not via Gmail" }),
    "Gmail's and a short word in the HTML alone": gmail({
      html: "<div>👍</div><div>Carla Smith reacted via Gmail</div><div>No!</div>",
    }),
    "Gmail's and words in the HTML alone": gmail({
      html: "<p>👍</p><p>Carla Smith reacted via Gmail</p><p>Please cancel the order today.</p>",
    }),
    "Gmail's with a sentence that has its sender's name alone": gmail({ sentence: "Carla Smith wants to cancel" }),
    "Gmail's and a file": gmail({
      more: [part("application/pdf", "pdf", "Content-Disposition: attachment; filename=order.pdf")],
    }),
    "Gmail's and a picture": gmail({
      more: [part("image/png", "png", "Content-Disposition: attachment; filename=a.png")],
    }),
    "Gmail's and a picture within its text": gmail({
      more: [part("image/png", "png", "Content-Disposition: inline", "Content-ID: <a>")],
    }),
    "Gmail's with words that begin as a part of the name": {
      ...gmail({ sentence: "Our answer is no to gmail" }),
      from: "Pat O'Brien <pat@customer.example>",
    },
    "Gmail's with words that begin as its sender's name": gmail({ sentence: "Carlas answer is no to gmail" }),
    "Gmail's with a long sentence": gmail({ sentence: "Carla Smith wants her money back and writes it to her gmail" }),
    "Outlook's with words that begin as a part of the name": {
      ...outlook("[sad] Our parcel arrived broken:"),
      from: "Pat O'Brien <pat@customer.example>",
    },
    "Gmail's with another name": gmail({ sentence: "Bob Jones reacted via Gmail" }),
    "Gmail's with another sign in its text": gmail({ text: "👎\n\nCarla Smith reacted via Gmail" }),
    "Gmail's of another version": gmail({ json: json("👍", 2) }),
    "Gmail's with its version as text": gmail({ json: json("👍", "1") }),
    "Gmail's with two signs": gmail({ emoji: "👍🎉" }),
    "Gmail's with a word for a sign": gmail({ emoji: "cancel" }),
    "Gmail's with a letter for a sign": gmail({ emoji: "x" }),
    "Gmail's with a figure for a sign": gmail({ emoji: "1" }),
    "Gmail's with no sign": gmail({ emoji: "" }),
    "Gmail's with a sign of a thousand parts": gmail({ emoji: `👍${"\u200d👍".repeat(1_000)}` }),
    "Gmail's with broken JSON": gmail({ json: "{version:1" }),
    "Gmail's with JSON that is no object": gmail({ json: "null" }),
    "Outlook's and words below": outlook(`[like]  ${sentence}\n\nPlease cancel.`),
    "Outlook's and words behind the colon": outlook(`[like]  ${sentence} please cancel`),
    "Outlook's and words with a colon": outlook(`[like]  ${sentence} please cancel:`),
    "Outlook's and words on a second line": outlook(`[like]  Carla Smith reacted\nto cancel it:`),
    "Outlook's and words on a third line": outlook(`[like]\n${sentence}\nCarla Smith cancels:`),
    "Outlook's and words above": outlook(`No!\n[like]  ${sentence}`),
    "Outlook's and words in the HTML alone": outlook(`[like]  ${sentence}`, `${picture("like")}<p>Cancel it</p>`),
    "Outlook's with two signs": outlook(`[like]  ${sentence}`, picture("heart")),
    "Outlook's of an unknown sign": outlook(`[clap]  ${sentence}`),
    "Outlook's with another name": outlook("[like]  Bob Jones reacted to your message:"),
    "Outlook's without a colon": outlook("[like]  Carla Smith reacted to your message"),
    "Outlook's sign alone": outlook("[like]"),
    "a person's emoji from Outlook": outlook("👍"),
    "a person's emoji": { body: "👍" },
    "RFC 9078's and words": disposition("👍 please cancel"),
    "RFC 9078's and words in another part": multipart(
      "mixed",
      part("text/plain", "No!"),
      part("text/plain", "👍", "Content-Disposition: reaction"),
    ),
    "RFC 9078's and words below": disposition("👍\nplease cancel"),
    "RFC 9078's with a word": disposition("ok"),
    "an answer that quotes a reaction": {
      headers: ["Thread-Index: a"],
      body: `No, it is not.\n\n${quoted}\n\n[like] ${sentence}`,
    },
  };
  for (const [form, mail] of Object.entries(words))
    it(`a mail is ${form}`, async () => {
      expect(await signOf(mail)).to.equal(null);
    });

  it("only a small mail that answers something is read before its filing", () => {
    const raw = (...lines: string[]) => readHeaders(Buffer.from(lines.join("\r\n"))).mayReact;
    const [type, answers] = [`Content-Type: ${jsonType}`, "In-Reply-To: <a@ours.example>"];
    expect(raw(type, answers, "", json("👍"))).to.equal("gmail");
    expect(raw(type, "References: <a@ours.example>", "", json("👍"))).to.equal("gmail");
    expect(raw(type, "", json("👍"))).to.equal(undefined);
    expect(raw(type, answers, "", json("👍").padEnd(16 * 1024))).to.equal(undefined);
    expect(raw(answers, "Content-Type: text/plain", "", "Where is it?")).to.equal(undefined);
  });
});
