import { randomUUID } from "node:crypto";

/** Mail that is costly to read, each kind in a different way. `tags`: of the recipient, so that the copies differ. */
export type HostileMail = { kind: string; raw: Buffer; tags: number };

const crlf = "\r\n";
const many = (count: number, piece: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => piece(n)).join("");

function mail(headers: readonly string[], body: string): Buffer {
  const all = [`Message-ID: <${randomUUID()}@stranger.example>`, "Date: Mon, 16 Nov 2026 10:00:00 +0000", ...headers];
  return Buffer.from(`${all.join(crlf)}${crlf}${crlf}${body}${crlf}`, "latin1");
}

const from = "From: Stranger <stranger@stranger.example>";
const html = (body: string): Buffer =>
  mail([from, "Subject: html", "MIME-Version: 1.0", "Content-Type: text/html; charset=utf-8"], body);

/** Makes 64 KB of one address field, which a reader parses. */
const addressField = (name: string): string =>
  `${name}: ${many(1_300, (n) => `"a\\"(${n})" <person.${n}@example.example>,${crlf} `)}last@example.example`;

function deepParts(depth: number): Buffer {
  const open = many(depth, (n) => `--b${n}${crlf}Content-Type: multipart/mixed; boundary="b${n + 1}"${crlf}${crlf}`);
  return mail([from, "Subject: deep", "MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="b0"'], open);
}

function manyParts(count: number): Buffer {
  const parts = many(count, (n) => `--b${crlf}Content-Type: text/plain; name="${n}"${crlf}${crlf}${n}${crlf}`);
  return mail(
    [from, "Subject: parts", "MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="b"'],
    `${parts}--b--`,
  );
}

const kinds: Record<string, () => { raw: Buffer; tags?: number }> = {
  "262 KB of address fields to 20 tags": () => ({
    raw: mail([addressField("From"), addressField("To"), addressField("Cc"), addressField("Reply-To")], "Hello"),
    tags: 20,
  }),
  "1 MB of bare line ends": () => ({ raw: mail([from, "Subject: empty"], crlf.repeat(512 * 1024)) }),
  "200,000 header lines": () => ({
    raw: mail([from, ...Array.from({ length: 200_000 }, (_, n) => `X-${n}: a`)], "Hello"),
  }),
  "60 KB of encoded words": () => ({
    raw: mail([from, `Subject: ${many(2_500, () => `=?utf-8?Q?=C3=A4?=${crlf} `)}end`], "Hello"),
  }),
  "2,000 multiparts in each other": () => ({ raw: deepParts(2_000) }),
  "50,000 parts": () => ({ raw: manyParts(50_000) }),
  "HTML 100,000 deep": () => ({ raw: html(`${"<div>".repeat(100_000)}x`) }),
  "HTML with 150,000 siblings": () => ({ raw: html("<b>x</b>".repeat(150_000)) }),
  "a table of 100,000 cells": () => ({ raw: html(`<table><tr>${"<td>x</td>".repeat(100_000)}</tr></table>`) }),
  "quotes of quotes": () => ({
    raw: mail(
      [from, "Subject: quotes"],
      many(20_000, (n) => `${">".repeat(n % 40)} On Monday, a wrote:${crlf}`),
    ),
  }),
  "one line of 900 KB": () => ({ raw: mail([from, "Subject: line"], "On a wrote: ".repeat(75_000)) }),
  "50 signatures": () => ({
    raw: mail(
      [
        ...Array.from(
          { length: 50 },
          (_, n) => `DKIM-Signature: v=1; a=rsa-sha256; d=s${n}.example; s=s; h=from; bh=YQ==; b=YQ==`,
        ),
        from,
      ],
      "signed ".repeat(60_000),
    ),
  }),
  "an unknown character set": () => ({
    raw: mail(
      [from, "Subject: charset", "MIME-Version: 1.0", "Content-Type: text/plain; charset=x-none"],
      "\xff\xfe".repeat(300_000),
    ),
  }),
};

/** Makes `count` mails, the kinds in turn. */
export function hostileMail(count: number): HostileMail[] {
  const names = Object.keys(kinds);
  return Array.from({ length: count }, (_, n) => {
    const kind = names[n % names.length]!;
    return { kind, tags: 1, ...kinds[kind]!() };
  });
}
