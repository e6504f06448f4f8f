import type { Request } from "express";

/** What must be the same in a repetition, beside the body. The hash of both is stored: it may never come out different for the same request. */
export const whatIsAsked = ({ method, originalUrl, headers }: Request): string =>
  JSON.stringify([method, originalUrl, headers["if-match"] ?? null]);
