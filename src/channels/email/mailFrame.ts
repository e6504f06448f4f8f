import { html, type Markup, trusted } from "#src/html/html.ts";
import { palettes } from "#src/html/tokens.ts";

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
<body class="page" style="margin:0;padding:0;background-color:${light.page};-webkit-text-size-adjust:100%;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="page" style="background-color:${light.page};"><tr><td align="center" style="padding:16px 8px;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="card" style="max-width:600px;background-color:${light.card};border:1px solid ${light.line};border-radius:12px;">
<tr><td style="padding:24px 20px 8px;">
<h1 class="ink" style="margin:0 0 8px;${font}font-size:24px;line-height:1.25;font-weight:700;color:${light.ink};">${title}</h1>
${lead}
</td></tr>
${rows}
${facts.length > 0 && html`<tr><td class="line" style="padding:14px 20px 22px;border-top:1px solid ${light.line};">${facts.map((fact) => html`<p class="soft" style="margin:0 0 6px;${font}font-size:13px;line-height:1.5;color:${light.soft};">${fact}</p>`)}</td></tr>`}
</table>
</td></tr></table>
</body>
</html>
`.markup;

/** The colours of the service's mail: those of its pages. */
export const { light, dark } = palettes;

export const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;";

export const row = (content: Markup): Markup => html`<tr><td style="padding:8px 20px;">${content}</td></tr>`;

const darkStyle = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
.page { background-color: ${dark.page} !important; } .card { background-color: ${dark.card} !important; border-color: ${dark.line} !important; }
.letter { background-color: ${dark.page} !important; border-color: ${dark.line} !important; } .line { border-color: ${dark.line} !important; }
.ink { color: ${dark.ink} !important; } .soft { color: ${dark.soft} !important; }
.warning { background-color: ${dark.warning} !important; } .caution { color: ${dark.caution} !important; }
.added { background-color: ${dark.added} !important; color: ${dark.ink} !important; } .removed { background-color: ${dark.removed} !important; color: ${dark.ink} !important; }
}
`;
