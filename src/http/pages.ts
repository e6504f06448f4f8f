import { createHash } from "node:crypto";
import { type Reply, reply } from "./reply.ts";

export type Page = {
  title: string;
  /** Finished HTML. */
  body: string;
  /** CSS; allowed by its hash, so that no other style can run. */
  style?: string;
  status?: number;
};

/** A page to read: nothing runs, nothing is loaded or sent; it is not kept, referred from, framed or indexed. */
export function htmlPage({ title, body, style = "", status = 200 }: Page): Reply {
  const document = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeText(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex, nofollow">
<style>${style}</style></head>
<body>
${body}
</body></html>
`;
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return reply({
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": policy.join("; "),
      "Referrer-Policy": "no-referrer",
      "X-Robots-Tag": "noindex, nofollow",
      "X-Content-Type-Options": "nosniff",
      "X-Frame-Options": "DENY",
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
    },
    bytes: Buffer.from(document),
  });
}

const escapeText = (text: string): string => text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
