import { createHash } from "node:crypto";
import type { MailParser } from "#src/mail/in/parse.ts";
import type { CostlyWork } from "#src/platform/threadPool/costlyWork.ts";
import type { Reply } from "../../framework/reply.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { type HandedOver, mostRead } from "./mimeView.ts";
import type { Step } from "./steps.ts";

type Deps = { parser: MailParser; costlyWork: CostlyWork };

/** Returns the step of the newest delivery attempt. The raw mail route returns the bytes of that attempt. */
export const handOverStep = (steps: readonly Step[]): Step | undefined =>
  steps.findLast(({ event }) => event.type === "DeliveryStarted");

/** The mail that was handed over, from the raw mail route; undefined if there is none or it cannot be read now. */
export async function readHandedOver(
  { parser, costlyWork }: Deps,
  context: PageContext,
  steps: readonly Step[],
): Promise<HandedOver | undefined> {
  const started = handOverStep(steps)?.event;
  const queued = steps.findLast(({ event }) => event.type === "DraftQueued")?.event;
  if (started?.type !== "DeliveryStarted" || queued?.type !== "DraftQueued") return undefined;
  const { messageId } = queued.data;
  let answer: Reply | undefined;
  await context.attempt(async () => {
    answer = await context.askRaw("GET /v1/messages/:id/raw", { params: { id: messageId } });
  });
  if (!answer || !("bytes" in answer.content)) return undefined;
  const raw = answer.content.bytes;
  const sha256 = createHash("sha256").update(raw).digest("hex");
  const { workspaceId } = context.principal;
  const parsed = raw.length > mostRead ? null : await parser.parse(raw, { turn: workspaceId, sha256 });
  const body = parsed?.bodyHtml ?? null;
  const asHtml = body === null ? null : await costlyWork("sanitise", body, workspaceId);
  return { messageId, raw, parsed, asHtml, recorded: started.data.mimeSha256 };
}
