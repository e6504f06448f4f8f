import { html, type Markup, trusted } from "#src/html/html.ts";

/** `lead`: below the title. `rows`: each made by `row`. `facts`: the last lines. */
type Framed = { subject: string; title: string; lead: Markup; rows: Markup; facts: readonly string[] };

/** The frame around the HTML of every mail by the service: tables and inline styles, one column, nothing loaded from anywhere. */
export const mailFrame = ({ subject, title, lead, rows, facts }: Framed): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>${subject}</title>
<style>${trusted(darkStyle)}</style>
</head>
<body class="page" style="margin:0;padding:0;background-color:#f4f6f8;-webkit-text-size-adjust:100%;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="page" style="background-color:#f4f6f8;"><tr><td align="center" style="padding:16px 8px;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="card" style="max-width:600px;background-color:#ffffff;border:1px solid #d5dbe1;border-radius:12px;">
<tr><td style="padding:24px 20px 8px;">
<h1 class="ink" style="margin:0 0 8px;${font}font-size:24px;line-height:1.25;font-weight:700;color:#1b2430;">${title}</h1>
${lead}
</td></tr>
${rows}
${facts.length > 0 && html`<tr><td class="line" style="padding:14px 20px 22px;border-top:1px solid #d5dbe1;">${facts.map((fact) => html`<p class="soft" style="margin:0 0 6px;${font}font-size:13px;line-height:1.5;color:#4f5b69;">${fact}</p>`)}</td></tr>`}
</table>
</td></tr></table>
</body>
</html>
`.markup;

export const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;";

export const row = (content: Markup): Markup => html`<tr><td style="padding:8px 20px;">${content}</td></tr>`;

const darkStyle = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
.page { background-color: #12161b !important; } .card { background-color: #1b2128 !important; border-color: #39434f !important; }
.letter { background-color: #232b34 !important; border-color: #39434f !important; } .line { border-color: #39434f !important; }
.ink { color: #e8ecf0 !important; } .soft { color: #a9b4c0 !important; }
.warning { background-color: #3a2c08 !important; } .caution { color: #ffe3a3 !important; }
.added { background-color: #123d24 !important; color: #b9f2cf !important; } .removed { background-color: #47201d !important; color: #ffd0cb !important; }
}
`;
