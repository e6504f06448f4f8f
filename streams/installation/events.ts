import type { Event } from "../event.ts";

/** The whole installation, over all workspaces: every instance on one event log. */
export type InstallationEvent =
  /** From here on nothing leaves. `reason`: in the operator's words; null if none was given. Who it was is in the event's metadata. */
  Event<"InstallationPaused", { reason: string | null }> | Event<"InstallationResumed", { reason: string | null }>;

/** There is one for each event log. */
export const theInstallation = "main";

export const installationStream = (id: string): string => `installation-${id}`;
