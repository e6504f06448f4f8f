import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type InstallationEvent, installationStream } from "./events.ts";

/** `paused`: the operator has paused all sending. */
export type Installation = { paused: boolean };

export type InstallationCommand =
  | { type: "PauseInstallation"; reason: string | null }
  | { type: "ResumeInstallation"; reason: string | null };

function decide({ type, reason }: InstallationCommand, { paused }: Installation): InstallationEvent[] {
  switch (type) {
    case "PauseInstallation":
      return paused ? [] : [{ type: "InstallationPaused", data: { reason } }];
    case "ResumeInstallation":
      return paused ? [{ type: "InstallationResumed", data: { reason } }] : [];
    default:
      return unreachable(type);
  }
}

function evolve(_: Installation, event: InstallationEvent): Installation {
  switch (event.type) {
    case "InstallationPaused":
      return { paused: true };
    case "InstallationResumed":
      return { paused: false };
    default:
      return unreachable(event);
  }
}

export const installationDecider: Decider<Installation, InstallationCommand, InstallationEvent> = {
  category: "installation",
  initial: { paused: false },
  evolve,
  decide,
};

export const installations = stream({ decider: installationDecider, name: installationStream });
