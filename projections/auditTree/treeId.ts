import type { Recorded } from "#streams/event.ts";

/** The tree of events that belong to no workspace, such as the operator's. */
export const installationTree = "00000000-0000-0000-0000-000000000000";

/** Returns the tree of an event: its workspace's, or the installation's. */
export const treeIdOf = ({ metadata }: Recorded): string => metadata.workspaceId ?? installationTree;
