import type { Request } from "express";

/**
 * The parts of a request, besides the body, that must be equal in a repetition. Their hash with the body is stored, so this text must never
 * change for the same request.
 */
export const requestFingerprint = ({ method, originalUrl, headers }: Request): string =>
  JSON.stringify([method, originalUrl, headers["if-match"] ?? null]);
