import { expect } from "chai";
import { readMailHtml } from "#src/mail/in/html/mailText.ts";
import { ownWords } from "#src/mail/in/quotes/parts.ts";

const text = (html: string): string => readMailHtml(html).text;

describe("readMailHtml", () => {
  const row = (...cells: string[]) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;

  it("readMailHtml separates rows and cells of a table", () => {
    const table = `<table>${row("1001", "Lamp", "€ 10.00")}${row("1002", "Lamp model 2", "€ 20.00")}</table>`;
    expect(text(`<p>My orders:</p>${table}<p>Thanks</p>`)).to.equal(
      "My orders:\n\n1001 | Lamp | € 10.00\n1002 | Lamp model 2 | € 20.00\n\nThanks",
    );
  });

  it("readMailHtml keeps a row on one line although Word puts each cell into a paragraph", () => {
    const cell = (words: string) => `<p class=MsoNormal>${words}<o:p></o:p></p>`;
    expect(text(`<table>${row(cell("1001"), cell("Lamp"))}${row(cell("1002"), cell("Bulb"))}</table>`)).to.equal(
      "1001 | Lamp\n1002 | Bulb",
    );
  });

  it("readMailHtml separates cells without end tags and in nested tables", () => {
    expect(text("<table><tr><td>a<td>b<tr><td>c<td>d</table>")).to.equal("a | b\nc | d");
    expect(text(`<table><tr><td><table>${row("a", "b")}${row("c", "d")}</table></td></tr></table>`)).to.equal(
      "a | b\nc | d",
    );
  });

  it("readMailHtml reads a layout table as paragraphs", () => {
    const page = `<table>${row("<p>Dear Ada,</p><p>it is on its way.</p>", "<p>Terms</p><p>Imprint</p>")}</table>`;
    expect(text(page)).to.equal("Dear Ada,\n\nit is on its way.\n\nTerms\n\nImprint");
  });

  it("readMailHtml shows pictures that have text or come with the mail, and no tracking pictures", () => {
    expect(text('<p>See <img src="cid:a@b" alt="the broken lamp"></p><img src="cid:c@d">')).to.equal(
      "See [image: the broken lamp]\n\n[image]",
    );
    expect(text('<p>Hi</p><img src="https://count.example/1.gif" width=1 height=1>')).to.equal("Hi");
  });

  it("readMailHtml shows what Outlook reveals to other programs, and no comments and styles", () => {
    const page =
      "<!--[if gte mso 9]><xml><o:x/></xml><![endif]--><style>p{}</style><![if !mso]><p>Please cancel.</p><![endif]>";
    expect(text(page)).to.equal("Please cancel.");
  });

  it("readMailHtml numbers lists as shown and adds link targets that the text does not have", () => {
    const list = "<ol start=3><li>three<li>four<ul><li>inner</ul></ol>";
    expect(text(list)).to.equal("3. three\n4. four\n\n  * inner");
    expect(text('<a href="https://a.example/">a.example</a> <a href="https://b.example/x">here</a>')).to.equal(
      "a.example [https://a.example/] here [https://b.example/x]",
    );
    expect(text('<a href="mailto:ada@x.example">ada@x.example</a>')).to.equal("ada@x.example");
  });

  it("readMailHtml keeps the line breaks of div, br and pre", () => {
    expect(text("<div>a</div><div><br></div><div>b</div>")).to.equal("a\n\nb");
    expect(text("<div>a<br></div><div>b</div>")).to.equal("a\nb");
    expect(text("<pre>a  b\n  c</pre>d")).to.equal("a  b\n  c\n\nd");
  });

  const programs: Record<string, string> = {
    Gmail:
      '<div dir="ltr">Please cancel.</div><br><div class="gmail_quote"><div class="gmail_attr">On Mon, Nov 23, 2026 at 10:12 AM Support &lt;<a href="mailto:s@x.example">s@x.example</a>&gt; wrote:<br></div><blockquote class="gmail_quote"><div>OLD</div></blockquote></div>',
    Thunderbird:
      '<p>Please cancel.</p><div class="moz-cite-prefix">Am 23.11.26 um 10:12 schrieb Support:<br></div><blockquote type="cite" cite="mid:a@b"><p>OLD</p></blockquote>',
    "Apple Mail":
      'Please cancel.<div><br><blockquote type="cite"><div>On 23. Nov 2026, at 10:12, Support &lt;s@x.example&gt; wrote:</div><br class="Apple-interchange-newline"><div>OLD</div></blockquote></div>',
    Yahoo:
      '<div>Please cancel.</div><div id="yahoo_quoted_123" class="yahoo_quoted"><div>On Monday, November 23, 2026, Support wrote:</div><div>OLD</div></div>',
    Outlook:
      '<p class=MsoNormal>Please cancel.</p><div style="border:none;border-top:solid #E1E1E1 1.0pt"><p class=MsoNormal><b>From:</b> Support &lt;s@x.example&gt;<br><b>Sent:</b> Monday, November 23, 2026 10:12<br><b>To:</b> Ada &lt;a@x.example&gt;<br><b>Subject:</b> Order</p></div><p class=MsoNormal>OLD</p>',
    "Outlook on the web":
      '<div>Please cancel.</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><font><b>Von:</b> Support &lt;s@x.example&gt;<br><b>Gesendet:</b> Montag, 23. November 2026 10:12<br><b>An:</b> Ada<br><b>Betreff:</b> Auftrag</font><div>&nbsp;</div></div><div>OLD</div>',
    "Outlook on the web, with no blank line below the fields":
      '<div>Please cancel.</div><hr><div id="divRplyFwdMsg"><b>From:</b> Support<br><b>Sent:</b> Monday, November 23, 2026 10:12:00 AM<br><b>To:</b> Ada<br><b>Subject:</b> Order</div><div>OLD</div>',
    "Outlook for iOS":
      '<div dir="ltr">Please cancel.</div><div id="ms-outlook-mobile-signature"></div><div id="id-6c97172e" class="ms-outlook-mobile-reference-message"><hr style="display:inline-block;width:98%" tabindex="-1"><div id="divRplyFwdMsg" dir="ltr"><b>From:</b> Support &lt;s@x.example&gt;<br><b>Sent:</b> Monday, November 23, 2026 10:12:00 AM<br><b>To:</b> Ada<br><b>Subject:</b> Order</div><br>OLD</div>',
    "Outlook for phones, with the class on the fields alone":
      '<div>Please cancel.</div><div style="border-style:solid none none"><div class="ms-outlook-mobile-reference-message"><b>Von: </b>Support<br><b>Gesendet: </b>Montag, 23. November 2026 10:12<br><b>Betreff: </b>Auftrag</div></div><div>OLD</div>',
    "Outlook for phones, with the class on each part":
      '<div>Please cancel.</div><div id="mail-editor-reference-message-container"><div class="ms-outlook-mobile-reference-message skipProofing"><b>From: </b>Support &lt;s@x.example&gt;<br><b>Date: </b>Monday, 23 November 2026 at 10:12<br><b>To: </b>Ada<br><b>Subject: </b>Order</div><div class="ms-outlook-mobile-reference-message skipProofing">OLD</div></div>',
    "Outlook for Mac, which renames what it quotes":
      '<div>Please cancel.</div><div class="x_ms-outlook-mobile-reference-message"><hr><div id="x_divRplyFwdMsg"><b>From:</b> Support<br><b>Sent:</b> Monday, November 23, 2026 10:12<br><b>Subject:</b> Order</div><div>OLD</div></div>',
    "Thunderbird, forwarded":
      '<p>Please cancel.</p><div class="moz-forward-container"><br>-------- Forwarded Message --------<table><tbody><tr><th>Subject: </th><td>Order</td></tr><tr><th>Date: </th><td>Mon, 23 Nov 2026 10:12:00 +0100</td></tr><tr><th>From: </th><td>Support <a href="mailto:s@x.example">&lt;s@x.example&gt;</a></td></tr></tbody></table><br><p>OLD</p></div>',
    Proton:
      '<div>Please cancel.</div><div class="protonmail_quote">On Monday, November 23rd, 2026 at 10:12, Support &lt;s@x.example&gt; wrote:<br><blockquote class="protonmail_quote" type="cite">OLD</blockquote></div>',
    GMX: '<div>Please cancel.</div><div name="quote"><div><b>Gesendet:</b> Montag, 23. November 2026<br><b>Von:</b> Support</div><div>OLD</div></div>',
    Yandex:
      "<div>Please cancel.</div><div>23.11.2026, 10:12, Support &lt;s@x.example&gt;:</div><blockquote><p>OLD</p></blockquote>",
  };
  for (const [program, html] of Object.entries(programs)) {
    it(`the writer's words are told from what ${program} quotes`, () => {
      expect(text(html)).to.include("OLD");
      expect(ownWords(text(html))).to.equal("Please cancel.");
    });
  }

  it("what is written below a quotation that has an Outlook's mail in it stays the writer's", () => {
    const html =
      '<div>Please cancel.</div><div class="gmail_quote"><div>On Mon, Nov 23, 2026 at 10:12 AM Support &lt;s@x.example&gt; wrote:</div><blockquote class="gmail_quote"><div>OLD</div><hr><div id="m_-12divRplyFwdMsg"><b>From:</b> Ada<br><b>Sent:</b> Sunday</div><div>OLDER</div></blockquote></div><div>Today, please.</div>';
    expect(ownWords(text(html))).to.equal("Please cancel.\n\nToday, please.");
  });

  for (const [name, html] of Object.entries({
    "a blockquote that nothing marks": "<p>My wish:</p><blockquote>cancel order 5</blockquote><p>Thanks</p>",
    "a blockquote with a border":
      '<p>My wish:</p><blockquote style="border-left:1px solid">cancel order 5</blockquote>',
    "one with Gmail's class alone": '<p>My wish:</p><blockquote class="gmail_quote">cancel order 5</blockquote>',
  })) {
    it(`the writer's words include ${name}`, () => {
      expect(ownWords(text(html)))
        .to.include("cancel order 5")
        .and.include("My wish:");
    });
  }
});
