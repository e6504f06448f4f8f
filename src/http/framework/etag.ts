import type { IncomingMessage } from "node:http";
import { Rejected } from "#streams/decider.ts";
import { invalid } from "./errors.ts";

/** Formats a version as an entity tag. */
export const etag = (version: number): string => `"${version}"`;

const entityTag = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;

/**
 * The version in If-Match; undefined if there is no such header or it is `*`. By RFC 9110, 13.1.1, tags compare strongly, so a weak tag, or
 * one that is no version, matches nothing.
 */
export function ifMatchOf(request: IncomingMessage): number | undefined {
  const header = (request.headersDistinct["if-match"] ?? []).join(",").trim();
  if (header === "" || header === "*") return undefined;
  const match = entityTag.exec(header);
  if (match === null) throw invalid("If-Match", 'expected one version in quotes, for example "3"');
  if (match[1] !== undefined || !/^[1-9]\d{0,8}$/.test(match[2]!)) {
    throw new Rejected(
      "version_mismatch",
      `If-Match: ${header} is not a version of this resource; expected its current version in quotes, for example "3"`,
    );
  }
  return Number(match[2]);
}
