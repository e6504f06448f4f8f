import type { Event } from "../event.ts";

/** The whole installation, over all workspaces: every instance on one event log. */
export type InstallationEvent =
  /** The operator has paused all sending. `reason`: the operator's text; null if none was given. The event's metadata says who did it. */
  Event<"InstallationPaused", { reason: string | null }> | Event<"InstallationResumed", { reason: string | null }>;

/** Id of the installation, the only one in an event log. */
export const theInstallation = "main";

export const installationStream = (id: string): string => `installation-${id}`;
