import type { Tool } from "../tool.ts";
import { getDraft, reviseDraft, sendDraft, submitDraft } from "./drafts.ts";
import { listThreads } from "./listThreads.ts";
import { readAttachment } from "./readAttachment.ts";
import { readThread } from "./readThread.ts";
import { reply } from "./reply.ts";
import { waitForDecision } from "./waitForDecision.ts";
import { whoami } from "./whoami.ts";

/** All tools. No tool approves: only people approve. */
export const tools: readonly Tool[] = [
  ...[whoami, listThreads, readThread, readAttachment],
  ...[submitDraft, reviseDraft, getDraft, waitForDecision, sendDraft, reply],
];
