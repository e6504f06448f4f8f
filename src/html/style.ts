import { coloursSheet, tokensSheet } from "./tokens.ts";

export const pageStyle = `${tokensSheet}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:var(--text-m)/1.55 var(--font);overflow-wrap:anywhere}
header,main,footer{max-width:68rem;margin:0 auto;padding:0 var(--space-m)}
header{padding-top:var(--space-m)}footer{padding-top:var(--space-m);padding-bottom:var(--space-3xl);color:var(--soft);font-size:var(--text-xs)}
.brand{margin:0;font-weight:700;color:var(--soft);font-size:var(--text-s)}.brand span{color:var(--approve)}
h1{margin:var(--space-s) 0 var(--space-xs);font-size:var(--text-2xl);line-height:1.2}
h2{margin:0 0 var(--space-s);font-size:var(--text-l);line-height:1.3}h3{margin:var(--space-m) 0 var(--space-xs);font-size:var(--text-m);color:var(--soft)}
p{margin:0 0 var(--space-s)}.soft,.meta{color:var(--soft)}.meta{font-size:var(--text-s)}
section,.card{background:var(--card);border:1px solid var(--line);border-radius:var(--radius-l);padding:var(--space-m) var(--space-m) var(--space-l);margin:var(--space-m) 0}
section>:last-child,.card>:last-child{margin-bottom:0}
.warnings,.alert{background:var(--warning);color:var(--caution);border-color:var(--edge);border-left-width:5px}
.warnings ul{margin:0;padding-left:var(--space-l)}.warnings li+li{margin-top:var(--space-xs)}.warnings .meta{color:inherit}
dl{margin:0 0 var(--space-m);display:grid;grid-template-columns:max-content minmax(0,1fr);gap:var(--space-2xs) var(--space-m)}
dt{color:var(--soft)}dd{margin:0}dd bdi.code{display:block}.subject{font-weight:650}
.letter{white-space:pre-wrap;background:var(--page);border:1px solid var(--line);border-radius:var(--radius-m);padding:var(--space-m);margin:0 0 var(--space-s)}
.mark{background:var(--warning);color:var(--caution);border-radius:var(--radius-s);padding:var(--space-3xs) var(--space-xs);font-size:.85em;font-weight:600}
ins{background:var(--added);color:var(--ink);text-decoration:underline}del{background:var(--removed);color:var(--ink);text-decoration:line-through}ins,del{padding:0 .15em;border-radius:var(--radius-s)}
ul.files,ul.links{margin:0 0 var(--space-m);padding-left:var(--space-l)}.files li,.links li{margin:var(--space-2xs) 0}.files .caution{margin:var(--space-2xs) 0 var(--space-xs);padding:var(--space-xs) var(--space-s);background:var(--warning);color:var(--caution);border-radius:var(--radius-s)}
.press{display:inline-block;min-width:var(--tap);min-height:var(--tap);padding:var(--space-s) 0;font-weight:600}.press:has(+.press){margin-inline-end:var(--space-m)}
.unseen{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.letter-frame{display:block;margin-bottom:var(--space-xs);width:100%;height:26rem;max-height:70vh;border:1px solid var(--line);border-radius:var(--radius-m);resize:vertical;background:var(--page)}
details{margin:var(--space-s) 0}summary{cursor:pointer;min-height:var(--tap);padding:var(--space-s) 0;color:var(--link);font-weight:600}
a{color:var(--link)}a:focus-visible,button:focus-visible,textarea:focus-visible,input:focus-visible,summary:focus-visible,iframe:focus-visible{outline:3px solid var(--link);outline-offset:3px;border-radius:var(--radius-s)}
.skip{display:inline-block;min-width:var(--tap);min-height:var(--tap);padding:var(--space-s) 0;font-weight:600}
.list{list-style:none;margin:0;padding:0}.list a{display:inline-block;min-height:var(--tap);padding:var(--space-xs) 0}
form{margin:0 0 var(--space-l)}.choices form+form{border-top:1px solid var(--line);padding-top:var(--space-m)}.expiry{margin:0}
button{display:block;width:100%;min-height:3.5rem;padding:var(--space-s) var(--space-l);border:2px solid var(--soft);border-radius:var(--radius-m);font:inherit;font-size:var(--text-l);font-weight:700;cursor:pointer;background:var(--card);color:var(--ink)}
button.approve{border-color:var(--approve);color:var(--approve)}button.reject{border-color:var(--reject);color:var(--reject)}
button.first{color:var(--on-button);min-height:4.25rem;font-size:var(--text-xl)}button.approve.first{background:var(--approve)}button.reject.first{background:var(--reject)}
button{transition:filter var(--pace)}button:hover{filter:brightness(1.08)}
label{display:block;margin-bottom:var(--space-xs);font-weight:600}label span{font-weight:400;color:var(--soft)}
textarea{display:block;width:100%;min-height:5.5rem;margin-bottom:var(--space-s);padding:var(--space-s);border:1px solid var(--soft);border-radius:var(--radius-m);background:var(--card);color:inherit;font:inherit;resize:vertical}
#edit-form .field input{display:block;width:100%;min-height:3rem;margin-bottom:var(--space-s);padding:var(--space-xs) var(--space-s);border:1px solid var(--soft);border-radius:var(--radius-m);background:var(--card);color:inherit;font:inherit}#edit-form .error{color:var(--reject)}
input.code{display:block;width:9rem;min-height:3rem;margin-bottom:var(--space-s);padding:var(--space-xs) var(--space-s);border:1px solid var(--soft);border-radius:var(--radius-m);background:var(--card);color:inherit;font:inherit;font-size:var(--text-xl);letter-spacing:.2em}
.outcome{border-left:6px solid var(--line);margin-top:var(--space-xl);padding:var(--space-xl) var(--space-l)}.outcome h1{margin-top:0}
.outcome.good{border-left-color:var(--approve)}.outcome.bad{border-left-color:var(--reject)}.outcome.wait{border-left-color:var(--edge)}
code,.code{font-family:var(--mono);font-size:.9em}
@media (min-width:60rem){.sides{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:var(--space-m);align-items:start}.choices{display:grid;grid-template-columns:1fr 1fr;gap:var(--space-xl);align-items:start}.choices form,.choices form+form{margin:0;padding:0;border:0}.choices form:first-child,.choices form:last-child:nth-child(2){grid-column:1/-1}.choices{margin-bottom:var(--space-l)}h1{font-size:var(--text-3xl)}}
@media (max-width:30rem){dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin-bottom:var(--space-xs)}}
@media (forced-colors:active){.mark,.letter,.warnings,.alert,ins,del{border:1px solid}button.first{border-width:4px}[aria-current]{text-decoration:underline;text-underline-offset:.3em}}
@media print{header,footer,form,.skip{display:none}}
`;

/** Style of the letter inside its frame: a link shows its target. */
export const frameStyle = `${coloursSheet}
body{margin:0;padding:var(--space-m);background:var(--page);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
.link{text-decoration:underline}.link::after{content:" [" attr(data-href) "]";font-size:.85em;color:var(--soft)}
.image{color:var(--soft);font-style:italic}img{max-width:100%;height:auto;border:1px solid var(--line)}.light{background:#fff}.dark{background:#000}
table{border-collapse:collapse;max-width:100%}td,th{padding:var(--space-3xs) var(--space-xs);vertical-align:top;text-align:start}
blockquote{margin:var(--space-xs) 0;padding-inline-start:var(--space-s);border-inline-start:3px solid var(--line)}
pre{white-space:pre-wrap}summary{cursor:pointer;padding:var(--space-s) 0;color:var(--link);font-weight:600}
`;
