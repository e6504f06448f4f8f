import type { ErrorRequestHandler, NextFunction, Request, Response } from "express";

/** A failed request. `next` passes it to the next Express handler. */
export type FailedRequest = { error: unknown; request: Request; response: Response; next: NextFunction };

/** Makes an Express error handler of a function with one parameter. */
export const errorHandler =
  (handle: (failed: FailedRequest) => void | Promise<void>): ErrorRequestHandler =>
  // biome-ignore lint/complexity/useMaxParams: Express knows an error handler by its four parameters
  (error, request, response, next) =>
    handle({ error, request, response, next });
