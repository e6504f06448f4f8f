/** Colours by use; each text colour reads well (WCAG AA, 4.5:1) on the backgrounds it is used on. */
const palettes = {
  light: {
    ink: "#1b2430",
    soft: "#4f5b69",
    page: "#f4f6f8",
    card: "#ffffff",
    line: "#d5dbe1",
    link: "#0b57b0",
    approve: "#13703a",
    reject: "#b3261e",
    onButton: "#ffffff",
    warning: "#fff4d6",
    caution: "#4a3000",
    edge: "#c77700",
    added: "#d9f2e1",
    removed: "#fbe1de",
  },
  dark: {
    ink: "#e8ecf0",
    soft: "#a9b4c0",
    page: "#12161b",
    card: "#1b2128",
    line: "#39434f",
    link: "#8fc1ff",
    approve: "#5fd08d",
    reject: "#ff9e95",
    onButton: "#0d1116",
    warning: "#3a2c08",
    caution: "#ffe3a3",
    edge: "#e0a030",
    added: "#123d24",
    removed: "#47201d",
  },
} as const;

const variables = (palette: Record<string, string>): string =>
  Object.entries(palette)
    .map(([name, colour]) => `--${name}:${colour};`)
    .join("");

const colours = `:root{color-scheme:light dark;${variables(palettes.light)}}
@media (prefers-color-scheme:dark){:root{${variables(palettes.dark)}}}`;

const font = `system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif`;

export const pageStyle = `${colours}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:1.0625rem/1.55 ${font};overflow-wrap:anywhere}
header,main,footer{max-width:68rem;margin:0 auto;padding:0 1rem}
header{padding-top:1rem}footer{padding-top:1rem;padding-bottom:2.5rem;color:var(--soft);font-size:.9rem}
.brand{margin:0;font-weight:700;color:var(--soft);font-size:.95rem}.brand span{color:var(--approve)}
h1{margin:.75rem 0 .35rem;font-size:1.75rem;line-height:1.2}
h2{margin:0 0 .6rem;font-size:1.15rem;line-height:1.3}h3{margin:1rem 0 .4rem;font-size:1rem;color:var(--soft)}
p{margin:0 0 .75rem}.soft,.meta{color:var(--soft)}.meta{font-size:.95rem}
section,.card{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:1.1rem 1.1rem 1.2rem;margin:1rem 0}
section>:last-child,.card>:last-child{margin-bottom:0}
.warnings,.alert{background:var(--warning);color:var(--caution);border-color:var(--edge);border-left-width:5px}
.warnings ul{margin:0;padding-left:1.2rem}.warnings li+li{margin-top:.4rem}.warnings .meta{color:inherit}
dl{margin:0 0 1rem;display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.3rem 1rem}
dt{color:var(--soft)}dd{margin:0}dd bdi.code{display:block}.subject{font-weight:650}
.letter{white-space:pre-wrap;background:var(--page);border:1px solid var(--line);border-radius:10px;padding:1rem;margin:0 0 .75rem}
.mark{background:var(--warning);color:var(--caution);border-radius:6px;padding:.05rem .4rem;font-size:.85em;font-weight:600}
ins{background:var(--added);color:var(--ink);text-decoration:underline}del{background:var(--removed);color:var(--ink);text-decoration:line-through}ins,del{padding:0 .15em;border-radius:4px}
ul.files,ul.links{margin:0 0 1rem;padding-left:1.2rem}.files li,.links li{margin:.3rem 0}.files .caution{margin:.2rem 0 .4rem;padding:.4rem .7rem;background:var(--warning);color:var(--caution);border-radius:8px}
.press{display:inline-block;min-width:2.75rem;min-height:2.75rem;padding:.6rem .3rem;font-weight:600}
.unseen{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.letter-frame{display:block;margin-bottom:.5rem;width:100%;height:26rem;max-height:70vh;border:1px solid var(--line);border-radius:10px;resize:vertical;background:var(--page)}
details{margin:.75rem 0}summary{cursor:pointer;min-height:2.75rem;padding:.6rem 0;color:var(--link);font-weight:600}
a{color:var(--link)}a:focus-visible,button:focus-visible,textarea:focus-visible,input:focus-visible,summary:focus-visible,iframe:focus-visible{outline:3px solid var(--link);outline-offset:3px;border-radius:6px}
.skip{display:inline-block;min-height:2.75rem;padding:.6rem 0;font-weight:600}
.list{list-style:none;margin:0;padding:0}.list a{display:inline-block;min-height:2.75rem;padding:.4rem 0}
form{margin:0 0 1.25rem}.choices form+form{border-top:1px solid var(--line);padding-top:1.1rem}.expiry{margin:0}
button{display:block;width:100%;min-height:3.5rem;padding:.75rem 1.25rem;border:2px solid;border-radius:12px;font:inherit;font-size:1.2rem;font-weight:700;cursor:pointer;background:var(--card)}
button.approve{border-color:var(--approve);color:var(--approve)}button.reject{border-color:var(--reject);color:var(--reject)}
button.first{color:var(--onButton);min-height:4.25rem;font-size:1.35rem}button.approve.first{background:var(--approve)}button.reject.first{background:var(--reject)}
button:hover{filter:brightness(1.08)}
label{display:block;margin-bottom:.35rem;font-weight:600}label span{font-weight:400;color:var(--soft)}
textarea{display:block;width:100%;min-height:5.5rem;margin-bottom:.75rem;padding:.7rem;border:1px solid var(--soft);border-radius:10px;background:var(--card);color:inherit;font:inherit;resize:vertical}
input.code{display:block;width:9rem;min-height:3rem;margin-bottom:.75rem;padding:.5rem .7rem;border:1px solid var(--soft);border-radius:10px;background:var(--card);color:inherit;font:inherit;font-size:1.35rem;letter-spacing:.2em}
.outcome{border-left:6px solid var(--line);margin-top:1.5rem;padding:1.4rem 1.3rem}.outcome h1{margin-top:0}
.outcome.good{border-left-color:var(--approve)}.outcome.bad{border-left-color:var(--reject)}.outcome.wait{border-left-color:var(--edge)}
code,.code{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.9em}
@media (min-width:60rem){.sides{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:1rem;align-items:start}.choices{display:grid;grid-template-columns:1fr 1fr;gap:1.5rem;align-items:end}.choices form,.choices form+form{margin:0;padding:0;border:0}.choices{margin-bottom:1.25rem}h1{font-size:2.1rem}}
@media (max-width:30rem){dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin-bottom:.5rem}}
@media print{header,footer,form,.skip{display:none}}
`;

/** Style of the letter inside its frame: a link shows its target. */
export const frameStyle = `${colours}
body{margin:0;padding:1rem;background:var(--page);color:var(--ink);font:1rem/1.55 ${font};overflow-wrap:anywhere}
.link{text-decoration:underline}.link::after{content:" [" attr(data-href) "]";font-size:.85em;color:var(--soft)}
.image{color:var(--soft);font-style:italic}img{max-width:100%;height:auto;border:1px solid var(--line)}.light{background:#fff}.dark{background:#000}
table{border-collapse:collapse;max-width:100%}td,th{padding:.15rem .4rem;vertical-align:top;text-align:start}
blockquote{margin:.5rem 0;padding-inline-start:.8rem;border-inline-start:3px solid var(--line)}
pre{white-space:pre-wrap}summary{cursor:pointer;padding:.6rem 0;color:var(--link);font-weight:600}
`;
