import { html } from "#src/html/html.ts";
import { palettes } from "#src/html/tokens.ts";
import { visibleLine } from "#src/html/visible.ts";

type Bodies = { text: string; html: string };

/**
 * Adds a line to both bodies of a notification mail: why the recipient gets the mail, and how to unsubscribe. The HTML may be a whole
 * document or a part of one.
 */
export function withFooter(bodies: Bodies, { to, stopUrl }: { to: string; stopUrl: string }): Bodies {
  const address = visibleLine(to);
  const text = `${bodies.text.trimEnd()}\n\n--\nCountersign sent this to ${address} because a workspace uses this address for notifications.\nTo stop or resume these mails: ${stopUrl}\n`;
  const line = html`<p class="soft" style="${style}">Countersign sent this to <bdi>${address}</bdi> because a workspace uses this address for notifications. <a href="${stopUrl}" class="soft" style="color:${light.soft};">Stop or resume these mails</a></p>`;
  const end = bodies.html.lastIndexOf("</body>");
  const at = end < 0 ? bodies.html.length : end;
  return { text, html: `${bodies.html.slice(0, at)}${line.markup}${bodies.html.slice(at)}` };
}

const { light } = palettes;

const style = `margin:16px auto;max-width:600px;padding:0 20px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:12px;line-height:1.5;overflow-wrap:anywhere;word-break:break-word;color:${light.soft};`;
