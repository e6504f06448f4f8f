import { logo } from "./generated.ts";
import { type Shape, same, shape } from "./shape.ts";

const link = 'href="https://x.example"';
/** Bodies with dark grounds: those stay on which all text can be read. */
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
    "a dark newsletter that says so at once",
    '<table style="background:#222;color:#fff"><tr><td>a</td></tr></table>',
  ),
  shape(
    "a dark newsletter",
    '<table bgcolor="#222222"><tr><td style="color:#ffffff">a</td></tr></table>',
    '<table style="background-color:#222222"><tr><td style="color:#ffffff">a</td></tr></table>',
  ),
  shape(
    "a dark page of old HTML",
    "<body bgcolor=#000000 text=#ffffff><table bgcolor=navy><tr><td><font color=#ffcc00>a</font></table></body>",
    '<div style="background-color:#000000;color:#ffffff"><table style="background-color:navy"><tr><td><span style="color:#ffcc00">a</span></td></tr></table></div>',
  ),
  shape(
    "a dark card with a paragraph without a colour",
    '<div style="background:#222"><h1 style="color:#fff">a</h1><p>b</p><p style="color:#fc0">c</p></div>',
    "<div><h1>a</h1><p>b</p><p>c</p></div>",
    "style:background 1",
    "style:color 2",
  ),
  shape(
    "a dark card with a link without a colour",
    `<div style="background:#222;color:#fff">a <a ${link}>b</a></div>`,
    `<div>a <a ${link}>b</a></div>`,
    "style:background 1",
    "style:color 1",
  ),
  shape(
    "a dark card with a picture whose words could not be read",
    '<div style="background:#222"><b style="color:#fff">a</b><img src="cid:logo@x" alt="b"></div>',
    `<div><b>a</b><img src="cid:${logo}" alt="b"></div>`,
    "style:background 1",
    "style:color 1",
  ),
  shape(
    "a dark card with a list whose markers could not be read",
    '<div style="background:#222"><ul><li><b style="color:#fff">a</b></li></ul></div>',
    "<div><ul><li><b>a</b></li></ul></div>",
    "style:background 1",
    "style:color 1",
  ),
  shape(
    "a dark item, whose marker stands beside it",
    '<ul><li style="background:#222;color:#fff">a</li></ul>',
    "<ul><li>a</li></ul>",
    "style:background 1",
    "style:color 1",
  ),
  shape(
    "grounds on a ground: the one that hides goes, the others stay",
    '<div style="background:#222;color:#fff"><p style="background:#eee">a</p><p style="background:#036">b</p></div>',
    '<div style="background:#222;color:#fff"><p>a</p><p style="background:#036">b</p></div>',
    "style:background 1",
  ),
  shape(
    "a ground that goes and leaves its text on the next",
    '<div style="background:#222"><p style="background:#036">a</p><p style="color:#fff">b</p></div><p style="background:#036"><b style="color:#fff">c</b></p>',
    '<div><p>a</p><p>b</p></div><p style="background:#036"><b style="color:#fff">c</b></p>',
    "style:background 2",
    "style:color 1",
  ),
  shape(
    "a ground that goes and lets a colour stay",
    '<div style="background:#000">a <b style="color:#222">b</b></div>',
    '<div>a <b style="color:#222">b</b></div>',
    "style:background 1",
  ),
  shape("black on black", '<p style="background:#000">a</p>', "<p>a</p>", "style:background 1"),
  shape(
    "white on white",
    '<p style="background:#fff;color:#fff">a</p>',
    '<p style="background:#fff">a</p>',
    "style:color 1",
  ),
  shape(
    "an inline ground, which is not drawn behind a block",
    '<span style="background:#222;color:#fff"><p>a</p></span>',
    "<span><p>a</p></span>",
    "style:background 1",
    "style:color 1",
  ),
  shape(
    "a table's ground, which is not drawn behind its caption",
    '<table style="background:#222;color:#fff"><caption>a</caption><tr><td>b</td></tr></table>',
    "<table><caption>a</caption><tr><td>b</td></tr></table>",
    "style:background 1",
    "style:color 1",
  ),
  shape(
    "marked paragraphs on a dark ground",
    '<div style="background:#222;color:#fff"><mark><p>a</p></mark></div>',
    "<div><mark><p>a</p></mark></div>",
    "style:background 1",
    "style:color 1",
  ),
  shape(
    "more grounds within each other than are looked at: all go",
    `${'<div style="background:#000">'.repeat(30)}a${"</div>".repeat(30)}<p style="background:#000;color:#fff">b</p>`,
    `${"<div>".repeat(30)}a${"</div>".repeat(30)}<p>b</p>`,
    "style:background 31",
    "style:color 1",
  ),
];
