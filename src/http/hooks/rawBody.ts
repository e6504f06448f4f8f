import express, { type RequestHandler } from "express";

/**
 * The body of a provider's call as it came, byte for byte, as `request.body` (a Buffer), whatever its type says: signatures are over these
 * bytes. Compressed bodies are refused (415); more than `limit` bytes 413.
 */
export const rawBody = (limit: number): RequestHandler => express.raw({ type: () => true, limit, inflate: false });
