import { createHash } from "node:crypto";
import { mailboxOf } from "#src/mail/out/measure/measure.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { readStopToken, type Stoppable, type StopToken, stopToken } from "./stopLinks.ts";

/** A mailbox by whatever spelling of its address, as one workspace sends to it. */
const mailboxHash = ({ workspaceId, address }: Stoppable): string =>
  createHash("sha256")
    .update(JSON.stringify([workspaceId, mailboxOf(address)]))
    .digest("hex");

/** Whether the reader of this mailbox has stopped the workspace's service mail to it. */
export async function isStopped(deps: Pick<Dependencies, "serviceMails">, mail: Stoppable): Promise<boolean> {
  return (await deps.serviceMails.load(mailboxHash(mail))).state.stopped;
}

/** How long a link works. Only a newer mail, or a new link that is asked for on its page, has a later one. */
const lifetimeMs = 90 * 86_400_000;

/** The token for a mail that is sent now. Throws Unavailable. */
export async function newStopToken(
  deps: Pick<Dependencies, "serviceMails" | "keyRing" | "clock">,
  mail: Stoppable,
): Promise<string> {
  const { series } = (await deps.serviceMails.load(mailboxHash(mail))).state;
  const expiresAt = Math.floor((deps.clock.now().getTime() + lifetimeMs) / 1000);
  return stopToken(deps.keyRing, { ...mail, series, expiresAt });
}

/** A link was in a mail that an identity got, so that an agent may have it: it stops nothing any more. Throws Unavailable. */
export async function closeStopLinks(
  deps: Pick<Dependencies, "serviceMails">,
  { workspaceId, address, series }: StopToken,
  cause: Cause,
): Promise<void> {
  const command = { type: "CloseStopLinks", workspaceId, address, series } as const;
  await deps.serviceMails.handle(mailboxHash(command), command, { ...cause, workspaceId });
}

/** A stop link as its page shows it: what it stops, the workspace's name in its own words, and how it is now. `standing`: whether the link still works. */
export type StopLink = Stoppable & {
  workspaceName: string;
  stopped: boolean;
  standing: "valid" | "expired" | "closed";
};

/** The action of the page's button. */
export type StopLinkChange = "stop" | "resume" | "renew";

/** What HTTP knows of the person who pressed. */
type Caller = { ip: string | undefined; userAgent: string | undefined; requestId: string | undefined };

/** What the pages behind a stop link ask and say. The token is the right. All throw Unavailable while the event log is away. */
export type StopLinks = {
  /** Undefined for a token that was never given out, or whose key is gone from the ring. */
  find(token: string): Promise<StopLink | undefined>;
  /**
   * Stops the mail, lets it come again, or has a new link mailed to the address; once, however often it is pressed. A link that does not work does only
   * the last, and one that works the others. Undefined for a token that was never given out.
   */
  change(token: string, to: StopLinkChange, by: Caller): Promise<StopLink | undefined>;
};

const commands = { stop: "StopServiceMail", resume: "ResumeServiceMail" } as const;

export const stopLinks = (deps: Dependencies): StopLinks => {
  async function find(token: string): Promise<StopLink | undefined> {
    const read = readStopToken(deps.keyRing, token);
    if (!read) return undefined;
    const { series, expiresAt, ...mail } = read;
    const { stopped, series: current } = (await deps.serviceMails.load(mailboxHash(mail))).state;
    const { state: workspace } = await deps.workspaces.load(mail.workspaceId);
    const isExpired = expiresAt * 1000 <= deps.clock.now().getTime();
    const standing = series !== current ? "closed" : isExpired ? "expired" : "valid";
    return { ...mail, workspaceName: workspace.name, stopped, standing };
  }

  return {
    find,
    async change(token, to, by) {
      const link = await find(token);
      if (!link || (to === "renew") === (link.standing === "valid")) return link;
      const { workspaceId, address } = link;
      const command =
        to === "renew"
          ? ({ type: "RequestStopLink", workspaceId, address, at: deps.clock.now().toISOString() } as const)
          : { type: commands[to], workspaceId, address };
      const { state } = await deps.serviceMails.handle(mailboxHash(link), command, causeOf(deps, link, by));
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
