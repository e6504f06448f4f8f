import { logo } from "./generated.ts";
import { type Shape, same } from "./shape.ts";

/** Bodies whose styles have a meaning: after reduction an element has that meaning, or the style is removed and named. */
export const marks: Shape[] = [
  {
    name: "a struck word",
    given: '<p>We will <span style="text-decoration:line-through">not</span> refund you 1000 EUR.</p>',
    kept: "<p>We will <s>not</s> refund you 1000 EUR.</p>",
    removed: [],
  },
  {
    name: "a raised number",
    given: '10<span style="vertical-align:super;font-size:9px">00</span>',
    kept: '10<sup style="font-size:9px">00</sup>',
    removed: [],
  },
  {
    name: "a lowered number in a font",
    given: 'H<font color=red style="VERTICAL-ALIGN: Sub">2</font>O',
    kept: 'H<sub style="color:red">2</sub>O',
    removed: [],
  },
  {
    name: "a struck paragraph",
    given: '<p style="text-decoration:line-through;color:red">a<b>b</b></p>c',
    kept: '<p style="color:red"><s>a<b>b</b></s></p>c',
    removed: [],
  },
  {
    name: "a cell with both lines",
    given: '<table><tr><td style="text-decoration:underline line-through">a',
    kept: "<table><tr><td><s><u>a</u></s></td></tr></table>",
    removed: [],
  },
  {
    name: "the line that counts of several",
    given:
      '<b style="text-decoration:underline!important;text-decoration:none">a</b><i style="text-decoration:underline;text-decoration-line:line-through">b</i>',
    kept: "<b><u>a</u></b><i><s>b</s></i>",
    removed: ["style:text-decoration 2"],
  },
  {
    name: "a line with its looks",
    given: '<span style="text-decoration:line-through double red">a</span>',
    kept: "<s>a</s>",
    removed: ["style:text-decoration 1"],
  },
  {
    name: "lines that elements draw by themselves",
    given:
      '<u style="text-decoration:underline">a</u><del style="text-decoration:line-through">b</del><a href="https://x.example" style="text-decoration:underline">c</a>',
    kept: '<u>a</u><del>b</del><a href="https://x.example">c</a>',
    removed: [],
  },
  {
    name: "lines that are taken away",
    given:
      '<s style="text-decoration:none">a</s><ins style="text-decoration:none">b</ins><a href="https://x.example" style="text-decoration:none">c</a><sup style="vertical-align:baseline">d</sup><sub style="vertical-align:super">e</sub>',
    kept: '<s>a</s><ins>b</ins><a href="https://x.example">c</a><sup>d</sup><sub>e</sub>',
    removed: ["style:text-decoration 3", "style:vertical-align 2"],
  },
  {
    name: "a line through an element without text",
    given:
      '<ul style="text-decoration:line-through"><li>a</ul><table><tr style="text-decoration:underline"><td>b</table>',
    kept: "<ul><li>a</li></ul><table><tr><td>b</td></tr></table>",
    removed: ["style:text-decoration 2"],
  },
  {
    name: "heights of cells and pictures",
    given: '<table><tr valign=top><td valign=middle style="vertical-align:bottom">a<td valign=baseline>b</table>',
    kept: '<table><tr style="vertical-align:top"><td style="vertical-align:bottom">a</td><td>b</td></tr></table>',
    removed: ["attribute:valign 1"],
  },
  {
    name: "lists with other numbers than they show",
    given:
      '<ol start=1000 style="list-style-type:none"><li value=7>a</ol><ul style="list-style:decimal"><li>b</ul><ol type=a reversed><li>c</ol>',
    kept: '<ol start="1000"><li>a</li></ol><ul><li>b</li></ul><ol><li>c</li></ol>',
    removed: [
      "attribute:reversed 1",
      "attribute:type 1",
      "attribute:value 1",
      "style:list-style 1",
      "style:list-style-type 1",
    ],
  },
  {
    name: "list markers outside of the visible area",
    given: '<ol style="margin:0;padding:0 0 0 0"><li style="padding-left:5px">a</ol>',
    kept: '<ol style="margin:0"><li style="padding-left:5px">a</li></ol>',
    removed: ["style:padding 1"],
  },
  {
    name: "boxes that part words or cover the line above",
    given: 'not<span style="padding-left:1em">able</span><b style="margin:0 9px;border-top:1px solid red">a</b>',
    kept: "not<span>able</span><b>a</b>",
    removed: ["style:border-top 1", "style:margin 1", "style:padding-left 1"],
  },
  {
    name: "lines of signs laid over other text",
    given: '<div style="height:0">————</div><table><tr><td><div style="width:1px">————</div><td>not</table>',
    kept: "<div>————</div><table><tr><td><div>————</div></td><td>not</td></tr></table>",
    removed: ["style:height 1", "style:width 1"],
  },
  {
    name: "a cell over two columns laid over one that reaches down from above",
    given:
      '<table><tr><td colspan="2">a<td rowspan="2">not</td></tr><tr><td colspan="3" style="background:#fff">b</table><table><tr><td colspan="2">c<tr><td>d<td rowspan="1" colspan="2">e</table>',
    kept: '<table><tr><td colspan="2">a</td><td rowspan="2">not</td></tr><tr><td style="background:#fff">b</td></tr></table><table><tr><td colspan="2">c</td></tr><tr><td>d</td><td rowspan="1" colspan="2">e</td></tr></table>',
    removed: ["attribute:colspan 1"],
  },
  {
    name: "a picture too small to show what is on it",
    given: `<img src="cid:logo@x" alt="a" width=0 height=7><img src="cid:logo@x" alt="b" style="width:1%;height:8px"><img src="cid:logo@x" alt="c" style="width:10%;max-width:0">`,
    kept: `<img src="cid:${logo}" alt="a"><img src="cid:${logo}" alt="b" style="height:8px"><img src="cid:${logo}" alt="c" style="width:10%">`,
    removed: ["attribute:height 1", "attribute:width 1", "style:max-width 1", "style:width 1"],
  },
  {
    name: "a line in the colour of the ground under it",
    given:
      '<s style="background:black;color:white"><span style="background:white;color:black">not</span></s><div style="background:black;color:yellow"><s><mark>not</mark></s></div>',
    kept: '<s style="background:black;color:white"><span>not</span></s><div><s><mark>not</mark></s></div>',
    removed: ["style:background 2", "style:color 2"],
  },
  same("marks and what dresses them", '<p><s style="color:red">a</s> <u><b>b</b></u> <q lang="de">c</q></p>'),
  {
    name: "text turned around",
    given: '<bdo dir="rtl">a</bdo><p dir="rtl">b</p>',
    kept: 'a<p dir="rtl">b</p>',
    removed: ["element:bdo 1"],
  },
];
