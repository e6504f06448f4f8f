import { createHash } from "node:crypto";
import type { MailParser } from "#src/mail/in/parse.ts";
import { Rejected } from "#streams/decider.ts";
import type { Reply } from "../../framework/reply.ts";
import type { Visit } from "../framework/visit.ts";
import { type HandedOver, mostRead } from "./mimeView.ts";
import type { Step } from "./steps.ts";

type Deps = { parser: MailParser };

/** The step of the newest hand-over: the one whose bytes the route of raw mail has. */
export const handOverStep = (steps: readonly Step[]): Step | undefined =>
  steps.findLast(({ event }) => event.type === "DeliveryStarted");

/** The mail that was handed over, as the route of raw mail answers it. Throws Rejected not_found where there is none. */
export function mailReply(visit: Visit, steps: readonly Step[]): Promise<Reply> {
  const queued = steps.findLast(({ event }) => event.type === "DraftQueued")?.event;
  if (queued?.type !== "DraftQueued" || !handOverStep(steps)) {
    throw new Rejected("not_found", "nothing has been handed over yet");
  }
  return visit.askRaw("GET /v1/messages/:id/raw", { params: { id: queued.data.messageId } });
}

/** The same, read; undefined if nothing was handed over, or the message cannot be read now. */
export async function readHandedOver(
  { parser }: Deps,
  visit: Visit,
  steps: readonly Step[],
): Promise<HandedOver | undefined> {
  const step = handOverStep(steps);
  if (step?.event.type !== "DeliveryStarted") return undefined;
  let answer: Reply | undefined;
  await visit.attempt(async () => {
    answer = await mailReply(visit, steps);
  });
  if (!answer || !("bytes" in answer.content)) return undefined;
  const raw = answer.content.bytes;
  const sha256 = createHash("sha256").update(raw).digest("hex");
  const parsed = raw.length > mostRead ? null : await parser.parse(raw, { turn: visit.principal.workspaceId, sha256 });
  return { raw, parsed, recorded: step.event.data.mimeSha256 };
}
