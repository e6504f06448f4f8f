import { createHash } from "node:crypto";
import { mailboxOf } from "#src/mail/out/measure/measure.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { readStopToken, type Stoppable } from "./stopLinks.ts";

/** A mailbox by whatever spelling of its address, as one workspace sends to it. */
const mailboxHash = ({ workspaceId, address }: Stoppable): string =>
  createHash("sha256")
    .update(JSON.stringify([workspaceId, mailboxOf(address)]))
    .digest("hex");

/** Whether the reader of this mailbox has stopped the workspace's service mail to it. */
export async function isStopped(deps: Pick<Dependencies, "serviceMails">, mail: Stoppable): Promise<boolean> {
  return (await deps.serviceMails.load(mailboxHash(mail))).state.stopped;
}

/** What a stop link leads to: what it stops, the workspace's name in its own words, and how it is now. */
export type StopLink = Stoppable & { workspaceName: string; stopped: boolean };

/** What HTTP knows of the person who pressed. */
type Caller = { ip: string | undefined; userAgent: string | undefined; requestId: string | undefined };

/** What the pages behind a stop link ask and say. The token is the right. All throw Unavailable while the event log is away. */
export type StopLinks = {
  /** Undefined for a token that was never given out, or whose key is gone from the ring. */
  find(token: string): Promise<StopLink | undefined>;
  /** Stops the mail, or lets it come again; once, however often it is pressed. Undefined for a token that was never given out. */
  change(token: string, to: "stop" | "resume", by: Caller): Promise<StopLink | undefined>;
};

export const stopLinks = (deps: Dependencies): StopLinks => {
  async function find(token: string): Promise<StopLink | undefined> {
    const mail = readStopToken(deps.keyRing, token);
    if (!mail) return undefined;
    const { state: workspace } = await deps.workspaces.load(mail.workspaceId);
    return { ...mail, workspaceName: workspace.name, stopped: await isStopped(deps, mail) };
  }

  return {
    find,
    async change(token, to, by) {
      const link = await find(token);
      if (!link) return undefined;
      const { workspaceId, address } = link;
      const type = to === "stop" ? "StopServiceMail" : "ResumeServiceMail";
      const { state } = await deps.serviceMails.handle(
        mailboxHash(link),
        { type, workspaceId, address },
        causeOf(deps, link, by),
      );
      return { ...link, stopped: state.stopped };
    },
  };
};

function causeOf(deps: Dependencies, { workspaceId, address }: Stoppable, by: Caller): Cause {
  const { ip, userAgent, requestId = deps.ids.uuid() } = by;
  const actor = {
    kind: "email_link",
    id: address,
    ...(ip && { ip }),
    ...(userAgent && { userAgent }),
    requestId,
  } as const;
  return { actor, workspaceId, correlationId: requestId, causationId: requestId };
}
