import { Reply } from "../framework/reply.ts";
import { consoleHeaders } from "./layout.ts";

/** Answers a complete HTML page. */
export const documentReply = (status: number, document: string, headers: Record<string, string> = {}): Reply =>
  new Reply({ bytes: Buffer.from(document) }, status, { ...consoleHeaders, ...headers });

/** Redirects the browser with 303. */
export const redirectTo = (path: string): Reply => documentReply(303, "", { Location: path });
