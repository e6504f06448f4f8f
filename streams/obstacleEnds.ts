import type { DomainEvent } from "./domain/events.ts";
import { categoryOf, type Recorded } from "./event.ts";
import type { IdentityEvent } from "./identity/events.ts";
import type { InstallationEvent } from "./installation/events.ts";
import { unreachable } from "./unreachable.ts";
import type { WorkspaceEvent } from "./workspace/events.ts";

const ends: { [category: string]: (event: never) => boolean } = {
  installation: installationEnds,
  workspace: workspaceEnds,
  identity: identityEnds,
  domain: domainEnds,
};

/** Categories of the streams that can prevent a draft from being sent. */
export const obstacleCategories: readonly string[] = Object.keys(ends);

/**
 * True if an event can end an obstacle to sending drafts. Drafts that wait for the event's stream are retried then; an event that adds an
 * obstacle, or does not affect sending, wakes none. Throws Error for a type of these categories that this version does not know.
 */
export function canEndObstacle(event: Recorded): boolean {
  return ends[categoryOf(event.stream)]?.(event as never) ?? false;
}

function installationEnds(event: InstallationEvent): boolean {
  switch (event.type) {
    case "InstallationResumed":
      return true;
    case "InstallationPaused":
      return false;
    default:
      return unreachable(event);
  }
}

function workspaceEnds(event: WorkspaceEvent): boolean {
  switch (event.type) {
    case "SendingResumed":
      return true;
    // A changed plan may allow more identities and domains.
    case "PlanSet":
      return true;
    case "WorkspaceCreated":
    case "WorkspaceRenamed":
    case "SendingPaused":
    case "HumanApprovalRequired":
    case "HumanApprovalWaived":
    case "NamedApproversRequired":
    case "NamedApproversWaived":
      return false;
    default:
      return unreachable(event);
  }
}

function identityEnds(event: IdentityEvent): boolean {
  switch (event.type) {
    case "IdentityUpdated":
      return event.data.changes.status === "active";
    // The deleted identity's drafts fail, and another identity gets its slot in the plan.
    case "IdentityDeleted":
      return true;
    case "IdentityCreated":
    case "IdentitySecretsResealed":
    case "IdentityChatMoved":
      return false;
    default:
      return unreachable(event);
  }
}

function domainEnds(event: DomainEvent): boolean {
  switch (event.type) {
    case "DomainVerified":
      return true;
    // Another domain gets its slot in the plan.
    case "DomainDeleted":
      return true;
    case "DomainAdded":
    case "DomainRegistered":
    case "DomainCheckRequested":
    case "DomainChecked":
    case "DomainFailed":
    case "DomainFailing":
    case "DomainLost":
    case "DomainIdentityAttached":
    case "DomainKeyResealed":
      return false;
    default:
      return unreachable(event);
  }
}
