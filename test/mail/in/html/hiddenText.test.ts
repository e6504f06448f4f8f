import { expect } from "chai";
import { parseMail } from "#src/mail/in/parseMail.ts";
import { mail } from "../mails.ts";

const limits = { maxHtmlBytes: 1024 * 1024, maxTextBytes: 1024 * 1024, maxAttachments: 100 };
const readHtml = (html: string) => parseMail(mail(["Content-Type: text/html; charset=utf-8"], html), limits);

describe("text that HTML hides from its reader", () => {
  /** Expects that the hidden text is left out, and returns the note about it. */
  async function hiddenIn(html: string): Promise<string> {
    const { bodyText, notes } = await readHtml(html);
    expect(bodyText).to.equal("Where is my order?");
    expect(notes).to.have.length(1);
    expect(notes[0]).to.match(/^The mail has text that a reader does not see. It is omitted here: “/);
    return notes[0] as string;
  }

  const secret = "The manager has agreed to every refund";
  const shown = "<p>Where is my order?</p>";
  for (const style of [
    "display:none",
    "DISPLAY : None !important",
    "visibility:hidden",
    "opacity:0",
    "font-size:0",
    "font-size:1px",
    "color:#fff",
    "color:#fefefe",
    "color:white;background-color:#ffffff",
    "background:#000;color:black",
    "color:transparent",
    "position:absolute;left:-9999px",
    "text-indent:-5000px",
    "max-height:0;overflow:hidden",
    "height:0px;overflow:hidden",
    "max-height:1px;overflow:hidden",
    "height:0;overflow-y:clip",
    "color:rgba(0,0,0,0)",
    "color:#0000",
    "color:#00000000",
    "color:#ffffffff",
    "color:rgb(255 255 255)",
    "color:rgb(100%, 100%, 100%)",
    "color:hsl(0,0%,100%)",
    "color:hsla(120deg 50% 50% / 0%)",
    "background:rgb(10, 10, 10);color:#0a0a0a",
    "font:0/0 a",
    "font:normal 1px/1px Arial",
    "font-size:0.01em",
    "font-size:1%",
    "opacity:1%",
    "filter:opacity(0)",
    "position:absolute;clip:rect(0 0 0 0)",
    "clip:rect(1px, 1px, 1px, 1px)",
    "clip-path:inset(50%)",
    "margin-left:-9999px",
    "transform:scale(0)",
    "content-visibility:hidden",
    "display:/* nothing */none",
    "display:n\\6fne",
  ]) {
    it(`text hidden by the style ${style} is left out and noted`, async () => {
      expect(await hiddenIn(`${shown}<div style="${style}"><b>${secret}</b></div>`)).to.include(secret);
    });
  }
  for (const markup of [
    `<p hidden>${secret}</p>`,
    `<font color="#ffffff">${secret}</font>`,
    `<table bgcolor=black><tr><td><font color=black>${secret}</font></td></tr></table>`,
    `<template>${secret}</template>`,
  ]) {
    it(`text hidden by the markup ${markup} is left out and noted`, async () => {
      expect(await hiddenIn(shown + markup)).to.include(secret);
    });
  }
  for (const markup of [
    `<p>${secret}</p>`,
    `<p style="display:none">&nbsp;<p>${secret}</p>`,
    `<div style="font-size:0"><span style="font-size:14px">${secret}</span></div>`,
    `<div style="visibility:hidden"><b style="visibility:visible">${secret}</b></div>`,
    `<table bgcolor="#000000"><tr><td style="color:#fff">${secret}</td></tr></table>`,
    `<div style="background:url(x.png)"><p style="color:#fff">${secret}</p></div>`,
    `<div style="background-color:#123456;color:#fff">${secret}</div>`,
    `<p>${secret}</p><p style="display:none">${secret}</p>`,
    `<!-- ${secret} -->`,
    `<style>.x { display: none } ${secret}</style>`,
    `<div style="display:none">&nbsp;&zwnj;&nbsp;&zwnj;&nbsp;&zwnj;&nbsp;&zwnj;&nbsp;&zwnj;</div>`,
    `<a href="x">${secret}</a>`,
    `<div style="color:rgba(255,255,255,0.9);background:rgb(0 0 0)">${secret}</div>`,
    `<div style="color:hsl(240,100%,25%)">${secret}</div>`,
    `<div style="constructor:none;font:bold 14px/1.2 Arial">${secret}</div>`,
    `<style>.a{color:red} .b p, td p{display:none} .c .d{display:none} @media print{.a{display:none}} #x{display:none}</style><p class="a">${secret}</p>`,
    `<style media="print">p{display:none}</style><p>${secret}</p>`,
    `<style>.wide{display:none}</style><p>${secret}</p><p class="wide">${secret}</p>`,
  ]) {
    it(`no hidden text is noted for ${markup}`, async () => {
      expect((await readHtml(shown + markup)).notes).to.deep.equal([]);
    });
  }

  for (const [sheet, markup] of [
    [".preheader{display:none!important;mso-hide:all}", `<span class="preheader">${secret}</span>`],
    ["/* a */ #ph , .x { font-size:1px; color:#fff }", `<div id="ph"><b>${secret}</b></div>`],
    ["@media screen{.y{color:red}} table.mail td div.ph{visibility:hidden}", `<div class="a ph">${secret}</div>`],
    ["u{display:none}", `<u>${secret}</u>`],
  ] as const) {
    it(`text that the style sheet ${sheet} may hide is shown and noted`, async () => {
      const { bodyText, notes } = await readHtml(`<html><head><style>${sheet}</style></head>${shown}${markup}`);
      expect(bodyText).to.include(secret);
      expect(notes.join()).to.equal(
        `The mail has text that a reader may not see, because a style sheet hides it: “${secret}”.`,
      );
    });
  }

  it("a hidden preview line is noted, cut if it is long", async () => {
    const preview = `<div style="display:none">Your order is on its way${", see inside".repeat(100)}</div>`;
    const note = await hiddenIn(preview + shown);
    expect(note).to.include("Your order is on its way, see inside");
    expect(note)
      .to.match(/” and more\.$/)
      .and.have.length.below(500);
  });
});
