import { Reply } from "../framework/reply.ts";
import { consoleHeaders } from "./layout.ts";

/** A whole page as it is sent. */
export const documentReply = (status: number, document: string, headers: Record<string, string> = {}): Reply =>
  new Reply({ bytes: Buffer.from(document) }, status, { ...consoleHeaders, ...headers });

/** Leads the browser to another page. */
export const leadTo = (path: string): Reply => documentReply(303, "", { Location: path });
