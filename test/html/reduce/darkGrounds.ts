import { logo } from "./generated.ts";
import { type Shape, same } from "./shape.ts";

const link = 'href="https://x.example"';
/** Bodies with dark grounds. A ground is kept if all text on it can be read. */
export const darkGrounds: Shape[] = [
  same(
    "a dark header cell with a white heading",
    '<table>\n<tr><td style="background-color:#1a1a2e">\n<h1 style="color:#ffffff">Header</h1>\n</td></tr></table>',
  ),
  same(
    "a dark button",
    `<table><tr><td style="background:#0b57b0;padding:12px"><a ${link} style="color:#fff">Pay</a></td></tr></table>`,
  ),
  same(
    "a dark card whose text, list and picture are white",
    `<div style="background:#222"><div style="color:#fff">a<ul><li>b</li></ul><img src="cid:${logo}" alt="c"></div></div>`,
  ),
  same("a dark line with nothing on it", '<table><tr><td style="background-color:#000">&nbsp;</td></tr></table><hr>'),
  same("a dark rule", '<hr style="background-color:#000">'),
  same(
    "a dark newsletter with both colours on its table",
    '<table style="background:#222;color:#fff"><tr><td>a</td></tr></table>',
  ),
  {
    name: "a dark newsletter",
    given: '<table bgcolor="#222222"><tr><td style="color:#ffffff">a</td></tr></table>',
    kept: '<table style="background-color:#222222"><tr><td style="color:#ffffff">a</td></tr></table>',
    removed: [],
  },
  {
    name: "a dark page of old HTML",
    given: "<body bgcolor=#000000 text=#ffffff><table bgcolor=navy><tr><td><font color=#ffcc00>a</font></table></body>",
    kept: '<div style="background-color:#000000;color:#ffffff"><table style="background-color:navy"><tr><td><span style="color:#ffcc00">a</span></td></tr></table></div>',
    removed: [],
  },
  {
    name: "a dark card with a paragraph without a colour",
    given: '<div style="background:#222"><h1 style="color:#fff">a</h1><p>b</p><p style="color:#fc0">c</p></div>',
    kept: "<div><h1>a</h1><p>b</p><p>c</p></div>",
    removed: ["style:background 1", "style:color 2"],
  },
  {
    name: "a dark card with a link without a colour",
    given: `<div style="background:#222;color:#fff">a <a ${link}>b</a></div>`,
    kept: `<div>a <a ${link}>b</a></div>`,
    removed: ["style:background 1", "style:color 1"],
  },
  {
    name: "a dark card with a picture whose words could not be read",
    given: '<div style="background:#222"><b style="color:#fff">a</b><img src="cid:logo@x" alt="b"></div>',
    kept: `<div><b>a</b><img src="cid:${logo}" alt="b"></div>`,
    removed: ["style:background 1", "style:color 1"],
  },
  {
    name: "a dark card with a list whose markers could not be read",
    given: '<div style="background:#222"><ul><li><b style="color:#fff">a</b></li></ul></div>',
    kept: "<div><ul><li><b>a</b></li></ul></div>",
    removed: ["style:background 1", "style:color 1"],
  },
  {
    name: "a dark list item, whose marker is drawn outside of it",
    given: '<ul><li style="background:#222;color:#fff">a</li></ul>',
    kept: "<ul><li>a</li></ul>",
    removed: ["style:background 1", "style:color 1"],
  },
  {
    name: "grounds on a ground: the one that hides text is removed, the others stay",
    given:
      '<div style="background:#222;color:#fff"><p style="background:#eee">a</p><p style="background:#036">b</p></div>',
    kept: '<div style="background:#222;color:#fff"><p>a</p><p style="background:#036">b</p></div>',
    removed: ["style:background 1"],
  },
  {
    name: "a ground that is removed and leaves its text on the next",
    given:
      '<div style="background:#222"><p style="background:#036">a</p><p style="color:#fff">b</p></div><p style="background:#036"><b style="color:#fff">c</b></p>',
    kept: '<div><p>a</p><p>b</p></div><p style="background:#036"><b style="color:#fff">c</b></p>',
    removed: ["style:background 2", "style:color 1"],
  },
  {
    name: "a ground that is removed and lets a colour stay",
    given: '<div style="background:#000">a <b style="color:#222">b</b></div>',
    kept: '<div>a <b style="color:#222">b</b></div>',
    removed: ["style:background 1"],
  },
  {
    name: "black on black",
    given: '<p style="background:#000">a</p>',
    kept: "<p>a</p>",
    removed: ["style:background 1"],
  },
  {
    name: "white on white",
    given: '<p style="background:#fff;color:#fff">a</p>',
    kept: '<p style="background:#fff">a</p>',
    removed: ["style:color 1"],
  },
  {
    name: "an inline ground, which is not drawn behind a block",
    given: '<span style="background:#222;color:#fff"><p>a</p></span>',
    kept: "<span><p>a</p></span>",
    removed: ["style:background 1", "style:color 1"],
  },
  {
    name: "a table's ground, which is not drawn behind its caption",
    given: '<table style="background:#222;color:#fff"><caption>a</caption><tr><td>b</td></tr></table>',
    kept: "<table><caption>a</caption><tr><td>b</td></tr></table>",
    removed: ["style:background 1", "style:color 1"],
  },
  {
    name: "marked paragraphs on a dark ground",
    given: '<div style="background:#222;color:#fff"><mark><p>a</p></mark></div>',
    kept: "<div><mark><p>a</p></mark></div>",
    removed: ["style:background 1", "style:color 1"],
  },
  {
    name: "more nested grounds than are judged: all are removed",
    given: `${'<div style="background:#000">'.repeat(30)}a${"</div>".repeat(30)}<p style="background:#000;color:#fff">b</p>`,
    kept: `${"<div>".repeat(30)}a${"</div>".repeat(30)}<p>b</p>`,
    removed: ["style:background 31", "style:color 1"],
  },
];
