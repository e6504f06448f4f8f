import { darkGrounds } from "./darkGrounds.ts";
import { logo } from "./generated.ts";
import { marks } from "./marks.ts";
import { type Shape, same } from "./shape.ts";

const answers: Shape[] = [
  same("an agent's answer", "<p>Dear Marta,</p>\n<p>a new copy is on its way.</p>\n<p>Kind regards</p>"),
  same("text without a tag", "Hello Ann,\nit is on its way."),
  same(
    "emphasis and code",
    "<p>Run <code>npm test</code>, press <kbd>Ctrl</kbd>, <strong>not</strong> <em>now</em>.</p>",
  ),
  same("a list of steps", '<ol start="3">\n  <li>Open it</li>\n  <li>Close it<ul><li>softly</li></ul></li>\n</ol>'),
  same(
    "a quotation",
    '<blockquote style="margin:0 0 0 .8em;padding-left:1em;border-left:1px solid #ccc"><p>as you wrote</p></blockquote>',
  ),
  same("terms", "<dl><dt>Order</dt><dd>48213</dd></dl>"),
  same("what changed", "<p><del>Monday</del> <ins>Tuesday</ins>, H<sub>2</sub>O <mark>new</mark></p>"),
  same("spelled references", "<p>10&nbsp;&euro; &#8212; Smith &amp; Sons &copy;</p>"),
  same("a link with its query", '<p><a href="https://x.example/r?o=48213&amp;c=2">your order</a></p>'),
  same(
    "an address and a number",
    '<p><a href="mailto:a@x.example?subject=Order 1">write</a> or <a href="tel:+46123">call</a></p>',
  ),
  {
    name: "Markdown made by a program",
    given: '<h2 id="next">Next</h2><ul class="task"><li>one</li></ul>',
    kept: "<h2>Next</h2><ul><li>one</li></ul>",
    removed: ["attribute:class 1", "attribute:id 1"],
  },
  {
    name: "a link to a new window",
    given: '<a href="https://x.example" target="_blank" rel="noopener">x</a>',
    kept: '<a href="https://x.example">x</a>',
    removed: ["attribute:rel 1", "attribute:target 1"],
  },
  {
    name: "a link within the page",
    given: '<a href="#end">to the end</a>',
    kept: "to the end",
    removed: ["link:fragment 1"],
  },
  {
    name: "a button as a link",
    given:
      '<a href="https://x.example" style="display:inline-block;padding:12px;background:#0b57b0;color:#fff">Pay</a>',
    kept: '<a href="https://x.example" style="background:#0b57b0;color:#fff">Pay</a>',
    removed: ["style:display 1", "style:padding 1"],
  },
  {
    name: "capitals and open ends",
    given: "<P>one<P>two<BR>three",
    kept: "<p>one</p><p>two<br>three</p>",
    removed: [],
  },
  {
    name: "single quotes",
    given: "<p dir='ltr' style='color:red'>a</p>",
    kept: '<p dir="ltr" style="color:red">a</p>',
    removed: [],
  },
  {
    name: "a page of HTML 5",
    given:
      '<!doctype html>\n<html lang="en">\n<head><meta charset=utf-8><title>T</title></head>\n<body>\n<main><h1>Hi</h1><p>a</p></main>\n</body></html>',
    kept: '<div lang="en">\n<h1>Hi</h1><p>a</p>\n</div>',
    removed: ["element:head 1", "element:main 1"],
  },
  {
    name: "sections",
    given: "<section>one</section><section>two</section><footer>three</footer>",
    kept: "one<br>two<br>three",
    removed: ["element:footer 1", "element:section 2"],
  },
  {
    name: "a figure",
    given: '<figure><img src="cid:logo@x" alt="Plan"><figcaption>The plan</figcaption></figure>',
    kept: `<img src="cid:${logo}" alt="Plan"><br>The plan`,
    removed: ["element:figcaption 1", "element:figure 1"],
  },
  {
    name: "a section that can be opened",
    given: "<details><summary>More</summary>inside</details>",
    kept: "More<br>inside",
    removed: ["element:details 1", "element:summary 1"],
  },
];

const programs: Shape[] = [
  {
    name: "Gmail",
    given:
      '<div dir="ltr">Hi Ann<div><br></div><div class="gmail_default" style="font-family:arial,sans-serif;font-size:small">it is sent</div></div>',
    kept: '<div dir="ltr">Hi Ann<div><br></div><div style="font-family:arial,sans-serif;font-size:small">it is sent</div></div>',
    removed: ["attribute:class 1"],
  },
  {
    name: "Gmail's quote",
    given:
      '<div class="gmail_quote"><div dir="ltr" class="gmail_attr">On Mon Ann wrote:<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex">x</blockquote></div>',
    kept: '<div><div dir="ltr">On Mon Ann wrote:<br></div><blockquote style="border-left:1px solid rgb(204,204,204)">x</blockquote></div>',
    removed: ["attribute:class 3", "style:margin 1", "style:padding-left 1"],
  },
  {
    name: "Outlook's paragraph",
    given:
      "<p class=MsoNormal style='margin:0cm;mso-margin-top-alt:auto'><span lang=EN-GB style='font-size:11.0pt;font-family:\"Calibri\",sans-serif;mso-fareast-language:EN-US'>Hi<o:p></o:p></span></p>",
    kept: '<p><span lang="EN-GB" style="font-size:11.0pt;font-family:&quot;Calibri&quot;,sans-serif">Hi</span></p>',
    removed: [
      "attribute:class 1",
      "element:o:p 1",
      "style:margin 1",
      "style:mso-fareast-language 1",
      "style:mso-margin-top-alt 1",
    ],
  },
  {
    name: "Outlook's conditions",
    given: "<!--[if gte mso 9]><xml><o:x/></xml><![endif]--><p>a</p><!--[if mso]><p>secret</p><![endif]-->",
    kept: "<p>a</p>",
    removed: ["comment 2"],
  },
  {
    name: "Outlook's open condition",
    given: "<![if !supportLists]><span>1.</span><![endif]>one",
    kept: "<span>1.</span>one",
    removed: ["comment 2"],
  },
  {
    name: "Word's namespace",
    given: '<?xml:namespace prefix = o ns = "urn:x" /><p>a</p>',
    kept: "<p>a</p>",
    removed: ["comment 1"],
  },
  {
    name: "Apple Mail",
    given:
      '<html><head><meta http-equiv="content-type" content="text/html"></head><body style="overflow-wrap: break-word; -webkit-nbsp-mode: space; line-break: after-white-space;">Hi<br><div><br class="Apple-interchange-newline">Ann</div></body></html>',
    kept: "<div>Hi<br><div><br>Ann</div></div>",
    removed: [
      "attribute:class 1",
      "element:head 1",
      "style:-webkit-nbsp-mode 1",
      "style:line-break 1",
      "style:overflow-wrap 1",
    ],
  },
  {
    name: "Thunderbird",
    given: '<body text="#000000" bgcolor="#FFFFFF"><p>Hi</p><pre class="moz-signature" cols="72">-- \nAnn</pre></body>',
    kept: '<div style="color:#000000;background-color:#FFFFFF"><p>Hi</p><pre>-- \nAnn</pre></div>',
    removed: ["attribute:class 1", "attribute:cols 1"],
  },
  {
    name: "Yahoo",
    given:
      '<div class="ydp" style="font-family:Helvetica Neue, Arial;font-size:16px;"><div dir="ltr" data-setdir="false">Hi</div></div>',
    kept: '<div style="font-family:Helvetica Neue, Arial;font-size:16px;"><div dir="ltr">Hi</div></div>',
    removed: ["attribute:class 1", "attribute:data-setdir 1"],
  },
  {
    name: "Excel",
    given:
      "<table border=0 cellpadding=0 cellspacing=0 width=64><col width=64><tr height=20><td height=20 align=right width=64 x:num>12</td></tr></table>",
    kept: '<table style="border-collapse:collapse;width:64px"><colgroup><col style="width:64px"></colgroup><tr><td style="padding:0px;height:20px;text-align:right;width:64px">12</td></tr></table>',
    removed: ["attribute:height 1", "attribute:x:num 1"],
  },
  {
    name: "old HTML",
    given: "<center><font color=red size=+1 face=Arial><strike>10</strike> <tt>9</tt> <big>8</big></font></center>",
    kept: '<div style="text-align:center"><span style="color:red;font-size:18px;font-family:Arial"><s>10</s> <code>9</code> 8</span></div>',
    removed: ["element:big 1"],
  },
  {
    name: "an old list",
    given: "<dir><li>a<li>b</dir><menu><li>c</menu>",
    kept: "<ul><li>a</li><li>b</li></ul><ul><li>c</li></ul>",
    removed: [],
  },
];

const tables: Shape[] = [
  same(
    "a table",
    '<table>\n<caption>Prices</caption>\n<thead><tr><th>Book</th></tr></thead>\n<tbody><tr><td colspan="2" rowspan="3">Atlas</td></tr></tbody></table>',
  ),
  {
    name: "a bordered table",
    given:
      '<table border="1" cellpadding="6" cellspacing="0" align="center" width="100%"><tr valign="top"><td bgcolor="#eee">a</td></tr></table>',
    kept: '<table style="border:1px solid gray;border-collapse:collapse;margin-left:auto;margin-right:auto;width:100%"><tr style="vertical-align:top"><td style="padding:6px;border:1px solid gray;background-color:#eee">a</td></tr></table>',
    removed: [],
  },
  {
    name: "a table in a table keeps its own edges",
    given: '<table cellpadding=3><tr><td><table cellpadding="0"><tr><td>a</td></tr></table></td></tr></table>',
    kept: '<table><tr><td style="padding:3px"><table><tr><td style="padding:0px">a</td></tr></table></td></tr></table>',
    removed: [],
  },
  {
    name: "a style before an attribute",
    given: '<table cellpadding=3><tr><td align=left style="text-align:right;padding:9px">a</td></tr></table>',
    kept: '<table><tr><td style="text-align:right;padding:9px">a</td></tr></table>',
    removed: [],
  },
  {
    name: "cells without ends",
    given: "<table><tr><td>a<td>b<tr><td>c</table>",
    kept: "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
    removed: [],
  },
  {
    name: "cells without a row",
    given: "<table><td>a</td></table>",
    kept: "<table><tr><td>a</td></tr></table>",
    removed: [],
  },
  {
    name: "text between cells",
    given: "<table>one<tr>two<td>three</td></tr></table>",
    kept: "<table><tr><td>one</td></tr><tr><td>two</td><td>three</td></tr></table>",
    removed: [],
  },
  {
    name: "cells without a table",
    given: "<tr><td>a</td><td>b</td></tr>",
    kept: "a<br>b",
    removed: ["element:td 2", "element:tr 1"],
  },
  {
    name: "spacing and wide cells",
    given: '<table cellspacing=2 width=900><tr><td nowrap background="https://x/i.png">a</td></tr></table>',
    kept: "<table><tr><td>a</td></tr></table>",
    removed: ["attribute:background 1", "attribute:cellspacing 1", "attribute:nowrap 1", "attribute:width 1"],
  },
];

const letters: Shape[] = [
  same("right to left", '<p dir="rtl" lang="he">שלום <b>עולם</b></p>'),
  same("mixed directions", '<p dir="auto">الطلب <span dir="ltr">48213</span></p>'),
  {
    name: "a page from right to left",
    given: '<html dir="rtl"><body><p>שלום</p></body></html>',
    kept: '<div dir="rtl"><p>שלום</p></div>',
    removed: [],
  },
  same("emoji and joiners", "<p>👩‍👩‍👧 नमस्ते क्‍ष</p>"),
  same("unseen characters stay to be shown", "<p>a\u200bb&#x202e;c</p>"),
  same(
    "a signature",
    '<p style="margin:0"><b>Harbour Books</b><br>Quay 4, Gothenburg<br><a href="https://harbour.example">harbour.example</a></p>',
  ),
  {
    name: "a signature with a logo",
    given:
      '<table><tr><td><img src="cid:logo@x" width="120" height="40" border="0" alt="Harbour Books"></td></tr></table>',
    kept: `<table><tr><td><img src="cid:${logo}" alt="Harbour Books" style="width:120px;height:40px"></td></tr></table>`,
    removed: [],
  },
  same("a picture bound already", `<p><img src="cid:${logo}" alt="Logo" style="width:120px"/></p>`),
  {
    name: "a remote picture",
    given: '<p>Hi <img src="https://t.example/p.gif" width="1" height="1" alt="">there</p>',
    kept: "<p>Hi there</p>",
    removed: ["image:remote 1"],
  },
  {
    name: "a remote picture with words",
    given: '<p>See<img src="//x.example/p.png" alt="the plan">now</p>',
    kept: "<p>See the plan now</p>",
    removed: ["image:remote 1"],
  },
  {
    name: "a newsletter's hidden first line",
    given: '<div style="display:none;max-height:0;overflow:hidden;font-size:1px;color:#fff">Sale!</div><p>Hi</p>',
    kept: "<div>Sale!</div><p>Hi</p>",
    removed: ["style:color 1", "style:display 1", "style:font-size 1", "style:max-height 1", "style:overflow 1"],
  },
  {
    name: "a newsletter's styles",
    given: "<style>@media(max-width:600px){.x{display:none}}</style><div class=x>a</div>",
    kept: "<div>a</div>",
    removed: ["attribute:class 1", "element:style 1"],
  },
];

const attacks: Shape[] = [
  {
    name: "a field with text",
    given: '<p>Pay 1</p><textarea>Pay 9000</textarea><input value="Pay 9000">',
    kept: "<p>Pay 1</p>",
    removed: ["element:input 1", "element:textarea 1"],
  },
  { name: "a choice", given: "<select><option>Pay 9000</select>ok", kept: "ok", removed: ["element:select 1"] },
  {
    name: "a form",
    given: '<form action="https://x.example"><label>Name</label><button>Go</button></form>',
    kept: "Name",
    removed: ["element:button 1", "element:form 1", "element:label 1"],
  },
  {
    name: "a script",
    given: "<script>alert(1)</script><p onclick=alert(1)>a</p>",
    kept: "<p>a</p>",
    removed: ["attribute:onclick 1", "element:script 1"],
  },
  {
    name: "words from a stylesheet",
    given: "<style>p::after{content:\"not\"}</style><p style=\"list-style-type:'x';content:'y'\">a</p>",
    kept: "<p>a</p>",
    removed: ["element:style 1", "style:content 1", "style:list-style-type 1"],
  },
  {
    name: "text in the ground's colour",
    given: '<p>Pay 1<span style="color:#fffffe">000</span></p>',
    kept: "<p>Pay 1<span>000</span></p>",
    removed: ["style:color 1"],
  },
  {
    name: "signs from a font of signs",
    given: '<p style="font-family:Wingdings">JKL</p>',
    kept: "<p>JKL</p>",
    removed: ["style:font-family 1"],
  },
];

/** Bodies as agents, people and mail programs write them. */
export const shapes: Shape[] = [...marks, ...answers, ...programs, ...tables, ...letters, ...darkGrounds, ...attacks];
