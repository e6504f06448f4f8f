import { cutText } from "#streams/cutText.ts";
import { type Reply, reply } from "../framework/reply.ts";

/** Types of untrusted files that are announced to browsers, because they display them without running anything. */
const passiveTypes =
  /^(image\/(png|jpeg|gif|webp|bmp|tiff|heic)|audio\/[\w.+-]+|video\/[\w.+-]+|text\/(plain|csv|calendar)|message\/rfc822|application\/(pdf|zip|gzip|json|msword|rtf|vnd\.[\w.+-]+))$/;

/**
 * Headers for a file download. It is not displayed, its type is not guessed, and nothing in it may run: type and name of mailed files are
 * not trusted.
 */
export const fileHeaders = (file: { contentType: string; filename: string }): Record<string, string> => ({
  "Content-Type": safeType(file.contentType),
  "Content-Disposition": attachmentNamed(file.filename),
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; sandbox",
});

/** A file as a download. */
export const fileReply = ({ bytes, ...file }: { bytes: Buffer; contentType: string; filename: string }): Reply =>
  reply({ bytes, headers: fileHeaders(file) });

/** The declared type without parameters if a browser does not execute it, else plain bytes. */
export function safeType(declared: string): string {
  const type = declared.split(";")[0]!.trim().toLowerCase();
  return passiveTypes.test(type) && !type.endsWith("xml") ? type : "application/octet-stream";
}

const maxFilename = 150;

/** Content-Disposition by RFC 6266: an ASCII name for old clients, and the full name as UTF-8 (RFC 8187). */
export function attachmentNamed(filename: string): string {
  const name = safeName(filename);
  const ascii = name
    .normalize("NFKD")
    .replace(/[^\x20-\x7e]/g, "_")
    .replace(/["\\%]/g, "_");
  const utf8 = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${utf8}`;
}

/** Returns the name as one path segment without characters that hide or reorder its extension. */
function safeName(filename: string): string {
  const name = filename
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")
    .replace(/[/\\:*?"<>|]/g, "_")
    .replace(/^[.\s]+|(?<![.\s])[.\s]+$/g, "");
  return shortened(name) || "attachment";
}

/** Shortens a file name but keeps its extension. */
function shortened(name: string): string {
  if (name.length <= maxFilename) return name;
  const ending = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? "";
  return cutText(name, maxFilename - ending.length) + ending;
}
