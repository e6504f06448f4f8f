import type { ErrorRequestHandler, NextFunction, Request, Response } from "express";

/** A request that failed. `next`: to whom it is handed on. */
export type Failed = { error: unknown; request: Request; response: Response; next: NextFunction };

/** An Express error handler. */
export const errorHandler =
  (handle: (failed: Failed) => void | Promise<void>): ErrorRequestHandler =>
  // biome-ignore lint/complexity/useMaxParams: Express knows an error handler by its four parameters
  (error, request, response, next) =>
    handle({ error, request, response, next });
